#include <cstring>

#include "ref/contenders.hpp"
#include "ref/suites.hpp"
#include "ref/timing.hpp"
#include "ref/ways.hpp"

namespace godwit::bench {
namespace {

constexpr std::size_t kObjects = 1'000;
constexpr std::uint64_t kObjectBytes = 1'000;
constexpr std::uint64_t kAllBytes = kObjects * kObjectBytes;

// A thousand objects, and what is done with all of them; one measured round is all.
class Thousand {
 public:
  explicit Thousand(Setup& setup) : setup_(setup) {
    for (std::size_t i = 0; i < kObjects; ++i) {
      values_.push_back(setup.words(kAllBytes).subspan(i * kObjectBytes / 8, kObjectBytes / 8));
    }
    enough_ = {.time_ns = setup.scope().quick ? 10'000'000U : 60'000'000U};
  }

  [[nodiscard]] Result<Sample> copied() {
    const auto arena = setup_.far().arena();
    return time_parts(enough_, [&] {
      return time_of([&]() -> Status {
        for (std::size_t i = 0; i < kObjects; ++i) {
          std::memcpy(arena.data() + i * kObjectBytes, values_[i].data(), kObjectBytes);
        }
        asm volatile("" : : "r"(arena.data()) : "memory");
        return {};
      });
    });
  }
  [[nodiscard]] Result<Sample> put_each() {
    return put([&](std::vector<Array>& refs) -> Status {
      for (const auto& value : values_) {
        GODWIT_TRY(Array ref, setup_.node().put(value));
        refs.push_back(std::move(ref));
      }
      return {};
    });
  }
  [[nodiscard]] Result<Sample> put_batch() {
    return put([&](std::vector<Array>& refs) { return put_together(refs); });
  }
  [[nodiscard]] Result<Sample> resolve_each() { return resolve(Order::Do::resolve_each); }
  [[nodiscard]] Result<Sample> resolve_batch() { return resolve(Order::Do::resolve_batch); }
  [[nodiscard]] Result<Sample> redis_set() {
    let_pollers_sleep();
    return time_parts(enough_, [&] {
      return time_of([&] { return setup_.redis()->set_all(kObjects, setup_.bytes(kAllBytes)); });
    });
  }
  [[nodiscard]] Result<Sample> redis_get() {
    let_pollers_sleep();
    return time_parts(enough_, [&] {
      return time_of([&] { return setup_.redis()->get_all(kObjects, setup_.into(kAllBytes)); });
    });
  }

 private:
  using Value = std::span<const std::uint64_t>;

  Status put_together(std::vector<Array>& refs) {
    for (auto& made : setup_.node().put_batch(std::span<const Value>(values_))) {
      if (!made) return tl::unexpected(made.error());
      refs.push_back(*std::move(made));
    }
    return {};
  }
  template <class Put>
  Result<Sample> put(const Put& put_all) {
    return time_parts(enough_, [&]() -> Result<std::uint64_t> {
      std::vector<Array> refs;
      refs.reserve(kObjects);
      GODWIT_TRY(const std::uint64_t time_ns, time_of([&] { return put_all(refs); }));
      GODWIT_CHECK(ways::evict(refs));
      return Result<std::uint64_t>(time_ns);
    });
  }
  // By the far side, which has seen none of them.
  Result<Sample> resolve(Order::Do what) {
    return time_parts(enough_, [&]() -> Result<std::uint64_t> {
      std::vector<Array> refs;
      GODWIT_CHECK(put_together(refs));
      GODWIT_TRY(const std::uint64_t time_ns, ways::resolve_far(setup_, what, refs));
      const std::span<const Handed> handed = setup_.handed(kObjects);
      for (std::size_t i = 0; i < kObjects; ++i) {
        if (handed[i].first != values_[i][0]) {
          return fail(ErrorCode::internal, "the objects have changed");
        }
      }
      GODWIT_CHECK(ways::evict(refs));
      return Result<std::uint64_t>(time_ns);
    });
  }

  Setup& setup_;
  std::vector<Value> values_;
  Enough enough_;
};

Status measure_batches(const Scope& scope, LocalTransport transport, Table& table) {
  const bool shm = transport == LocalTransport::shm;
  GODWIT_TRY(
      const auto setup,
      Setup::start(scope, {.transport = transport, .largest_bytes = kAllBytes, .redis = shm}));
  Thousand thousand(*setup);
  const std::string way = shm ? "shm, " : "tcp, ";
  const Goal goal{Goal::Kind::p50_below_us, 2'000};
  Contenders all;
  const auto add = [&](const char* name, Result<Sample> (Thousand::*measured)(),
                       std::optional<Contenders::Beside> beside = {}) {
    all.add(
        way + name, kAllBytes, [&thousand, measured] { return (thousand.*measured)(); },
        std::move(beside));
  };
  add("memcpy of each", &Thousand::copied);
  add("put one by one", &Thousand::put_each, {{way + "memcpy of each"}});
  add("put_batch", &Thousand::put_batch, {{way + "put one by one"}});
  if (setup->redis() != nullptr) add("redis MSET", &Thousand::redis_set, {{way + "put_batch"}});
  add("resolve one by one", &Thousand::resolve_each, {{way + "memcpy of each"}});
  add("resolve_batch", &Thousand::resolve_batch,
      {{way + "resolve one by one", By::p50, shm ? std::optional(goal) : std::nullopt}});
  if (setup->redis() != nullptr) add("redis MGET", &Thousand::redis_get, {{way + "resolve_batch"}});
  return all.run(scope.quick ? 1 : 3, table);
}

}  // namespace

Result<Table> run_ref_batch(const Scope& scope) {
  Table table{.suite = "batch",
              .title = "1,000 objects of 1 KB, times of all together, all sides spinning",
              .more_columns = {"MB/s"}};
  GODWIT_CHECK(measure_batches(scope, LocalTransport::shm, table));
  GODWIT_CHECK(measure_batches(scope, LocalTransport::tcp, table));
  table.notes.emplace_back(
      "Objects are resolved by a process that did not put them and has not seen them; the one that "
      "did sleeps by then. Redis is asked by one process.");
  return table;
}

}  // namespace godwit::bench
