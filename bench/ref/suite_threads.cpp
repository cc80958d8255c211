#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "ref/contenders.hpp"
#include "ref/suites.hpp"
#include "ref/timing.hpp"
#include "ref/ways.hpp"

namespace godwit::bench {
namespace {

constexpr std::size_t kObjectsEach = 8;
constexpr std::uint64_t kSmall = 1'000;

using Refs = std::vector<std::vector<Array>>;  // of each thread

Status evict(const Refs& refs) {
  for (const auto& own : refs) GODWIT_CHECK(ways::evict(own));
  return {};
}

Status resolve_one(const Setup& setup, const Handle& handle) {
  GODWIT_TRY(const Array ref, Array::from(setup.fleet(), handle));
  GODWIT_TRY(const auto object, ref.resolve());
  return (*object)[0] == 1 ? Status{} : fail(ErrorCode::internal, "the object has changed");
}

// Rounds of one thread, and when the last of them ended. Written in each: threads that met in one
// cache line here would be slowed down by being measured.
struct alignas(128) Rounds {
  std::vector<std::uint64_t> times_ns;
  std::uint64_t ended_ns = 0;
  Status status;
};

// Each thread does rounds of its own, on a core that it shares with as few others as there can be:
// some rows are over before the system has moved two of them apart. The rate is of all together,
// from when all of them run until the first has done enough: what the others would do after that
// they would do without it.
template <class Round>  // Status(thread, number)
Result<Sample> in_threads(const Scope& scope, std::size_t threads, const Round& round,
                          std::size_t most_rounds = 200'000) {
  const Enough enough{.time_ns = scope.quick ? 10'000'000U : 100'000'000U, .rounds = most_rounds};
  std::vector<Rounds> all(threads);
  std::atomic<std::size_t> ready{0};
  std::atomic<bool> begun{false};
  std::atomic<std::uint64_t> over_ns{UINT64_MAX};
  const auto work = [&](std::size_t thread) -> Status {
    auto& [times, last_ns, status] = all[thread];
    run_on_core(static_cast<int>(thread % std::max(std::thread::hardware_concurrency(), 1U)));
    times.resize(enough.rounds);  // touched, too
    times.clear();
    ready.fetch_add(1);
    while (!begun.load()) std::this_thread::yield();
    const std::uint64_t begin_ns = last_ns = floors::now_ns();
    while (!enough.is_met(times.size(), last_ns - begin_ns)) {
      if (over_ns.load(std::memory_order_relaxed) != UINT64_MAX) return {};
      GODWIT_CHECK(round(thread, times.size()));
      const std::uint64_t now_ns = floors::now_ns();
      times.push_back(now_ns - std::exchange(last_ns, now_ns));
    }
    std::uint64_t running = UINT64_MAX;
    over_ns.compare_exchange_strong(running, last_ns);
    return {};
  };
  std::uint64_t begin_ns = 0;
  {
    std::vector<std::jthread> running;
    for (std::size_t i = 0; i < threads; ++i) {
      running.emplace_back([&, i] { all[i].status = work(i); });
    }
    while (ready.load() != threads) std::this_thread::yield();
    begin_ns = floors::now_ns();
    begun.store(true);
  }
  floors::RoundTrips trips(threads * enough.rounds);
  for (Rounds& one : all) {
    GODWIT_CHECK(one.status);
    // One that was under way by then is nobody's.
    if (one.ended_ns > over_ns.load() && !one.times_ns.empty()) one.times_ns.pop_back();
    for (const std::uint64_t time_ns : one.times_ns) trips.add(time_ns);
  }
  return trips.summarise(over_ns.load() - begin_ns);
}

// What threads of this machine can do that share nothing.
Result<Sample> count_in_threads(const Scope& scope, std::size_t threads) {
  constexpr int kStepsPerRound = 100;
  return in_threads(scope, threads, [](std::size_t, std::uint64_t number) -> Status {
    for (int i = 0; i < kStepsPerRound; ++i) {
      number = number * 6'364'136'223'846'793'005U + 1;
      asm volatile("" : "+r"(number));
    }
    return {};
  });
}

Result<Sample> resolve_in_threads(Setup& setup, std::uint64_t size, std::size_t threads) {
  Refs refs(threads);
  for (auto& own : refs) {
    for (std::size_t i = 0; i < kObjectsEach; ++i) {
      GODWIT_TRY(Array ref, setup.node().put(setup.words(size)));
      own.push_back(std::move(ref));
    }
  }
  auto sample = in_threads(setup.scope(), threads, [&](std::size_t thread, std::size_t number) {
    return resolve_one(setup, refs[thread][number % kObjectsEach].handle());
  });
  GODWIT_CHECK(evict(refs));
  return sample;
}

// Each object once. Of those that are put together this process keeps none: it finds them as any
// other process of the host would.
Result<Sample> resolve_shown_in_threads(Setup& setup, std::size_t threads) {
  constexpr std::size_t kEach = 2'000;
  const std::vector<std::span<const std::uint64_t>> values(kEach, setup.words(kSmall));
  Refs refs(threads);
  for (auto& own : refs) {
    for (auto& ref : setup.node().put_batch(std::span(values))) {
      GODWIT_CHECK(ref);
      own.push_back(*std::move(ref));
    }
  }
  auto sample = in_threads(
      setup.scope(), threads,
      [&](std::size_t thread, std::size_t number) {
        return resolve_one(setup, refs[thread][number].handle());
      },
      kEach);
  GODWIT_CHECK(evict(refs));
  return sample;
}

Result<Sample> put_in_threads(Setup& setup, std::size_t threads, bool resolves) {
  constexpr std::size_t kEach = 2'000;
  Refs refs(threads);
  for (auto& own : refs) own.reserve(kEach);
  auto sample = in_threads(
      setup.scope(), threads,
      [&](std::size_t thread, std::size_t) -> Status {
        GODWIT_TRY(Array ref, setup.node().put(setup.words(kSmall)));
        refs[thread].push_back(std::move(ref));
        return resolves ? resolve_one(setup, refs[thread].back().handle()) : Status{};
      },
      kEach);
  GODWIT_CHECK(evict(refs));
  return sample;
}

// How long a process has kept cores busy.
std::uint64_t busy_ns(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// One row for each number of threads, beside that of one.
template <class InThreads>
Status measure_threads(const Scope& scope, const std::string& what, bool has_goal,
                       const InThreads& in_threads_do, Table& table) {
  const auto title = [&](std::size_t threads) {
    return fmt::format("{}, {} thread{}", what, threads, threads == 1 ? "" : "s");
  };
  Contenders all;
  for (const std::size_t threads : {1U, 2U, 3U, 4U}) {
    std::optional<Contenders::Beside> beside;
    if (threads > 1) beside = {title(1), By::rate, {}};
    if (threads == 2 && has_goal) beside->goal = Goal{Goal::Kind::ratio_at_least, 1.5};
    all.add(
        title(threads), 0, [&in_threads_do, threads] { return in_threads_do(threads); }, beside);
  }
  // Some rounds are over within a millisecond, in which one of two threads may well not have run.
  return all.run(scope.quick ? 1 : 15, table);
}

Status measure_resolving(const Scope& scope, LocalTransport transport, std::uint64_t size,
                         Table& table) {
  const bool shm = transport == LocalTransport::shm;
  GODWIT_TRY(const auto setup, Setup::start(scope, {.transport = transport,
                                                    .spin_us = kDefaultSpinUs,
                                                    .pinned = false,
                                                    .largest_bytes = size}));
  const std::string what =
      fmt::format("godwit resolve {}, {}", shm ? "shm" : "tcp", size_text(size));
  const auto both_ns = [&] { return busy_ns(::getpid()) + busy_ns(setup->node_pid()); };
  double cores = 0;
  const auto resolve = [&](std::size_t threads) -> Result<Sample> {
    const std::uint64_t before_ns = both_ns();
    const std::uint64_t begin_ns = floors::now_ns();
    auto sample = resolve_in_threads(*setup, size, threads);
    if (threads == 1) {
      cores = static_cast<double>(both_ns() - before_ns) /
              static_cast<double>(floors::now_ns() - begin_ns);
    }
    return sample;
  };
  // Resolved again, small ones of this host do not need the node: a second core is free then.
  const bool alone = shm && size < 100'000;
  GODWIT_CHECK(measure_threads(scope, what, alone, resolve, table));
  table.notes.push_back(
      fmt::format("{}: one thread and the node keep {:.2f} cores busy.", what, cores));
  return {};
}

// What is done once for each object.
Status measure_firsts(const Scope& scope, Table& table) {
  GODWIT_TRY(
      const auto setup,
      Setup::start(scope, {.spin_us = kDefaultSpinUs, .pinned = false, .largest_bytes = kSmall}));
  // Who has not asked this home before does not look at what it shows.
  for (int i = 0; i < 3; ++i) {
    GODWIT_TRY(const Array any, setup->node().put(setup->words(kSmall)));
    GODWIT_CHECK(any.evict());
  }
  GODWIT_CHECK(measure_threads(
      scope, "godwit resolve shm, 1 KB, each once", true,
      [&](std::size_t threads) { return resolve_shown_in_threads(*setup, threads); }, table));
  GODWIT_CHECK(measure_threads(
      scope, "godwit put shm, 1 KB", false,
      [&](std::size_t threads) { return put_in_threads(*setup, threads, false); }, table));
  return measure_threads(
      scope, "godwit put + resolve shm, 1 KB", false,
      [&](std::size_t threads) { return put_in_threads(*setup, threads, true); }, table);
}

}  // namespace

Result<Table> run_ref_threads(const Scope& scope) {
  Table table{.suite = "threads",
              .title =
                  "Threads of one client resolve objects of their own, again and again if "
                  "nothing else is said"};
  run_on_core(-1);  // what an earlier suite left would hold for all threads
  GODWIT_CHECK(measure_threads(
      scope, "a loop that shares nothing", false,
      [&](std::size_t threads) { return count_in_threads(scope, threads); }, table));
  for (const LocalTransport transport : {LocalTransport::shm, LocalTransport::tcp}) {
    for (const std::uint64_t size : {1'000U, 10'000'000U}) {
      GODWIT_CHECK(measure_resolving(scope, transport, size, table));
    }
  }
  GODWIT_CHECK(measure_firsts(scope, table));
  table.notes.push_back(fmt::format(
      "Each thread has a core, as far as there are any; the node is not pinned. Everybody spins "
      "{} us before it sleeps. The ratio is of the rates of all threads together. Where one thread "
      "and the node keep all cores busy, there is "
      "nothing left for a second one.",
      kDefaultSpinUs));
  return table;
}

}  // namespace godwit::bench
