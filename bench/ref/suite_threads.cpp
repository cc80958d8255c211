#include <thread>

#include "ref/contenders.hpp"
#include "ref/suites.hpp"
#include "ref/timing.hpp"
#include "ref/ways.hpp"

namespace godwit::bench {
namespace {

constexpr std::size_t kObjectsEach = 8;

// Each thread resolves objects of its own, in turns; the rate is of all together.
Result<Sample> resolve_in_threads(Setup& setup, std::uint64_t size, std::size_t threads) {
  std::vector<std::vector<Array>> refs(threads);
  for (auto& own : refs) {
    for (std::size_t i = 0; i < kObjectsEach; ++i) {
      GODWIT_TRY(Array ref, setup.node().put(setup.words(size)));
      own.push_back(std::move(ref));
    }
  }
  const Enough enough{.time_ns = setup.scope().quick ? 10'000'000U : 100'000'000U,
                      .rounds = 200'000};
  std::vector<std::vector<std::uint64_t>> times_ns(threads);
  std::vector<Status> ended(threads);
  const auto work = [&](std::size_t thread) -> Status {
    auto& times = times_ns[thread];
    times.reserve(enough.rounds);
    const std::uint64_t begin_ns = floors::now_ns();
    std::uint64_t last_ns = begin_ns;
    while (!enough.is_met(times.size(), last_ns - begin_ns)) {
      const Handle& handle = refs[thread][times.size() % kObjectsEach].handle();
      GODWIT_TRY(const Array ref, Array::from(setup.fleet(), handle));
      GODWIT_TRY(const auto object, ref.resolve());
      if ((*object)[0] != 1) return fail(ErrorCode::internal, "the object has changed");
      const std::uint64_t now_ns = floors::now_ns();
      times.push_back(now_ns - last_ns);
      last_ns = now_ns;
    }
    return {};
  };
  const std::uint64_t begin_ns = floors::now_ns();
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] { ended[i] = work(i); });
  }
  for (std::thread& thread : running) thread.join();
  const std::uint64_t wall_ns = floors::now_ns() - begin_ns;
  floors::RoundTrips all(threads * enough.rounds);
  for (std::size_t i = 0; i < threads; ++i) {
    GODWIT_CHECK(ended[i]);
    for (const std::uint64_t time_ns : times_ns[i]) all.add(time_ns);
    for (const Array& ref : refs[i]) GODWIT_CHECK(ref.evict());
  }
  return all.summarise(wall_ns);
}

Status measure(const Scope& scope, LocalTransport transport, std::uint64_t size, Table& table) {
  GODWIT_TRY(const auto setup, Setup::start(scope, {.transport = transport,
                                                    .spin_us = kDefaultSpinUs,
                                                    .pinned = false,
                                                    .largest_bytes = size}));
  const std::string way =
      fmt::format("{}, {}", transport == LocalTransport::shm ? "shm" : "tcp", size_text(size));
  const auto title = [&](std::size_t threads) {
    return fmt::format("godwit resolve {}, {} thread{}", way, threads, threads == 1 ? "" : "s");
  };
  Contenders all;
  for (const std::size_t threads : {1, 2, 4}) {
    std::optional<Contenders::Beside> beside;
    if (threads > 1) {
      beside = {title(1), By::rate, {}};
      if (threads == 2) beside->goal = Goal{Goal::Kind::ratio_at_least, 1.5};
    }
    all.add(
        title(threads), 0,
        [&setup, size, threads] { return resolve_in_threads(*setup, size, threads); }, beside);
  }
  return all.run(scope.quick ? 1 : 3, table);
}

}  // namespace

Result<Table> run_ref_threads(const Scope& scope) {
  Table table{.suite = "threads", .title = "Threads of one client resolve objects of their own"};
  for (const LocalTransport transport : {LocalTransport::shm, LocalTransport::tcp}) {
    for (const std::uint64_t size : {1'000, 10'000'000}) {
      GODWIT_CHECK(measure(scope, transport, size, table));
    }
  }
  table.notes.push_back(
      fmt::format("Not pinned; everybody spins {} us before it sleeps. The ratio is of the rates "
                  "of all threads "
                  "together. The node has no core of its own beside two threads.",
                  kDefaultSpinUs));
  return table;
}

}  // namespace godwit::bench
