#include <time.h>
#include <unistd.h>

#include <thread>

#include "ref/contenders.hpp"
#include "ref/suites.hpp"
#include "ref/timing.hpp"
#include "ref/ways.hpp"

namespace godwit::bench {
namespace {

constexpr std::size_t kObjectsEach = 8;

// Each thread does rounds of its own; the rate is of all together.
template <class Round>  // Status(thread, number)
Result<Sample> in_threads(const Scope& scope, std::size_t threads, const Round& round) {
  const Enough enough{.time_ns = scope.quick ? 10'000'000U : 100'000'000U, .rounds = 200'000};
  std::vector<std::vector<std::uint64_t>> times_ns(threads);
  std::vector<Status> ended(threads);
  const auto work = [&](std::size_t thread) -> Status {
    auto& times = times_ns[thread];
    times.reserve(enough.rounds);
    const std::uint64_t begin_ns = floors::now_ns();
    std::uint64_t last_ns = begin_ns;
    while (!enough.is_met(times.size(), last_ns - begin_ns)) {
      GODWIT_CHECK(round(thread, times.size()));
      const std::uint64_t now_ns = floors::now_ns();
      times.push_back(now_ns - last_ns);
      last_ns = now_ns;
    }
    return {};
  };
  const std::uint64_t begin_ns = floors::now_ns();
  {
    std::vector<std::jthread> running;
    for (std::size_t i = 0; i < threads; ++i) {
      running.emplace_back([&, i] { ended[i] = work(i); });
    }
  }
  const std::uint64_t wall_ns = floors::now_ns() - begin_ns;
  floors::RoundTrips all(threads * enough.rounds);
  for (std::size_t i = 0; i < threads; ++i) {
    GODWIT_CHECK(ended[i]);
    for (const std::uint64_t time_ns : times_ns[i]) all.add(time_ns);
  }
  return all.summarise(wall_ns);
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
  std::vector<std::vector<Array>> refs(threads);
  for (auto& own : refs) {
    for (std::size_t i = 0; i < kObjectsEach; ++i) {
      GODWIT_TRY(Array ref, setup.node().put(setup.words(size)));
      own.push_back(std::move(ref));
    }
  }
  const auto resolve = [&](std::size_t thread, std::size_t number) -> Status {
    const Handle& handle = refs[thread][number % kObjectsEach].handle();
    GODWIT_TRY(const Array ref, Array::from(setup.fleet(), handle));
    GODWIT_TRY(const auto object, ref.resolve());
    if ((*object)[0] != 1) return fail(ErrorCode::internal, "the object has changed");
    return {};
  };
  auto sample = in_threads(setup.scope(), threads, resolve);
  for (const auto& own : refs) {
    for (const Array& ref : own) GODWIT_CHECK(ref.evict());
  }
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
  for (const std::size_t threads : {1, 2, 4}) {
    std::optional<Contenders::Beside> beside;
    if (threads > 1) beside = {title(1), By::rate, {}};
    if (threads == 2 && has_goal) beside->goal = Goal{Goal::Kind::ratio_at_least, 1.5};
    all.add(
        title(threads), 0, [&in_threads_do, threads] { return in_threads_do(threads); }, beside);
  }
  return all.run(scope.quick ? 1 : 3, table);
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

}  // namespace

Result<Table> run_ref_threads(const Scope& scope) {
  Table table{.suite = "threads",
              .title = "Threads of one client resolve objects of their own, again and again"};
  GODWIT_CHECK(measure_threads(
      scope, "a loop that shares nothing", false,
      [&](std::size_t threads) { return count_in_threads(scope, threads); }, table));
  for (const LocalTransport transport : {LocalTransport::shm, LocalTransport::tcp}) {
    for (const std::uint64_t size : {1'000, 10'000'000}) {
      GODWIT_CHECK(measure_resolving(scope, transport, size, table));
    }
  }
  table.notes.push_back(fmt::format(
      "Not pinned; everybody spins {} us before it sleeps. The ratio is of the rates of "
      "all threads together. Where one thread and the node keep all cores busy, there is "
      "nothing left for a second one.",
      kDefaultSpinUs));
  return table;
}

}  // namespace godwit::bench
