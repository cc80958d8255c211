// Objects in channels: a folder and Redis, each beside the same store without Godwit.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "fabric/fd.hpp"
#include "ref/contenders.hpp"
#include "ref/suites.hpp"
#include "ref/timing.hpp"
#include "ref/ways.hpp"

namespace godwit::bench {
namespace {

Status check(bool good, const char* what) {
  if (good) return {};
  return fail(ErrorCode::io, "{} failed", what);
}

// A whole file, written aside and renamed; what any store in files takes at least.
Result<Sample> write_file(Setup& setup, std::uint64_t size, const Enough& enough) {
  const std::string path = setup.folder() + "/floor";
  const std::string aside = path + ".tmp";
  return time_parts(enough, [&] {
    return time_of([&]() -> Status {
      const fabric::Fd file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
      std::span<const std::byte> rest = setup.bytes(size);
      while (!rest.empty()) {
        const ssize_t done = ::write(file.get(), rest.data(), rest.size());
        GODWIT_CHECK(check(done > 0, "write"));
        rest = rest.subspan(static_cast<std::size_t>(done));
      }
      return check(std::rename(aside.c_str(), path.c_str()) == 0, "rename");
    });
  });
}

Result<Sample> read_file(Setup& setup, std::uint64_t size, const Enough& enough) {
  const std::string path = setup.folder() + "/floor";
  GODWIT_CHECK(write_file(setup, size, {.time_ns = 0, .rounds = 1, .least = 1}));
  return time_parts(enough, [&] {
    return time_of([&]() -> Status {
      const fabric::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      std::span<std::byte> rest = setup.into(size);
      while (!rest.empty()) {
        const ssize_t done = ::read(file.get(), rest.data(), rest.size());
        GODWIT_CHECK(check(done > 0, "read"));
        rest = rest.subspan(static_cast<std::size_t>(done));
      }
      return {};
    });
  });
}

PutOptions in(const char* channel) {
  PutOptions options;
  options.channel = channel;
  return options;
}

Result<Sample> put(Setup& setup, const char* channel, std::uint64_t size, const Enough& enough) {
  return time_parts(enough, [&]() -> Result<std::uint64_t> {
    std::optional<Array> made;
    GODWIT_TRY(const std::uint64_t took, time_of([&]() -> Status {
                 GODWIT_TRY(Array ref, setup.node().put(setup.words(size), in(channel)));
                 made = std::move(ref);
                 return {};
               }));
    GODWIT_CHECK(made->evict());
    return Result<std::uint64_t>(took);
  });
}

Result<Sample> resolve(Setup& setup, const char* channel, std::uint64_t size,
                       const Enough& enough) {
  GODWIT_TRY(const Array made, setup.node().put(setup.words(size), in(channel)));
  auto sample = time_parts(enough, [&] {
    return time_of([&]() -> Status {
      GODWIT_TRY(const Array ref, Array::from(setup.fleet(), made.handle()));
      GODWIT_TRY(const auto object, ref.resolve());
      if (object.how() != ResolvedBy::channel || (*object)[0] != setup.words(size)[0]) {
        return fail(ErrorCode::internal, "the object came another way, or has changed");
      }
      return {};
    });
  });
  GODWIT_CHECK(made.evict());
  return sample;
}

Status measure_channel(Setup& setup, std::uint64_t size, Table& table) {
  const Enough enough{.time_ns = setup.scope().quick ? 5'000'000U : 40'000'000U};
  Contenders all;
  const auto titled = [&](const char* name) {
    return fmt::format("{}, {}", name, size_text(size));
  };
  const auto pair = [&](const char* floor, auto bare, const char* subject, auto ours) {
    all.add_floor(titled(floor), size, [=, &setup] { return bare(setup, size, enough); });
    all.add(
        titled(subject), size, [=, &setup] { return ours(size, enough); },
        Contenders::Beside{titled(floor)});
  };
  const auto putting = [&setup](const char* channel) {
    return [&setup, channel](std::uint64_t bytes, const Enough& until) {
      return put(setup, channel, bytes, until);
    };
  };
  const auto resolving = [&setup](const char* channel) {
    return [&setup, channel](std::uint64_t bytes, const Enough& until) {
      return resolve(setup, channel, bytes, until);
    };
  };
  pair("write a file and rename it", write_file, "godwit put, file channel", putting("folder"));
  pair("read a file", read_file, "godwit resolve, file channel", resolving("folder"));
  if (setup.redis() != nullptr) {
    pair("redis SET", ways::redis_set, "godwit put, redis channel", putting("redis"));
    pair("redis GET", ways::redis_get, "godwit resolve, redis channel", resolving("redis"));
  }
  return all.run(setup.scope().quick ? 1 : 5, table);
}

}  // namespace

Result<Table> run_ref_channels(const Scope& scope) {
  Table table{.suite = "channels",
              .title = "One object in a channel, all sides spinning",
              .more_columns = {"MB/s"}};
  GODWIT_TRY(const auto setup,
             Setup::start(scope, {.largest_bytes = 10'000'000, .redis = true, .channels = true}));
  for (const std::uint64_t size : {1'000, 100'000, 10'000'000}) {
    GODWIT_CHECK(measure_channel(*setup, size, table));
  }
  table.notes.emplace_back(
      "A put asks the home for leave, writes, and tells the home, which looks into the channel; a "
      "resolve asks the home where the object is. The folder is in the temporary directory, not "
      "synced; Redis over a Unix socket, on the node's core.");
  return table;
}

}  // namespace godwit::bench
