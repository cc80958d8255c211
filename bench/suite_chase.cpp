// Following a list that lies across nodes: plain loads, a get for each step, and code that travels.
#include <algorithm>
#include <numeric>
#include <random>

#include "contest.hpp"
#include "godwit/ops/many.hpp"
#include "suites.hpp"

namespace godwit::bench {
namespace {

using List = Region<std::uint64_t>;

constexpr std::uint64_t kDepth = 64;  // steps of one chase
constexpr std::size_t kWindow = 64;
constexpr std::size_t kManyInFlight = 1024;

// One cycle through all elements in random order: no chase is short, and no step can be guessed.
std::vector<std::uint64_t> random_cycle(std::uint64_t elements) {
  std::vector<std::uint64_t> next(elements);
  std::iota(next.begin(), next.end(), std::uint64_t{0});
  std::mt19937_64 random(elements);
  for (std::uint64_t i = elements - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
  return next;
}

// Where chases begin; the same for all contenders.
class Starts {
 public:
  explicit Starts(std::uint64_t elements) : elements_(elements) {}
  std::uint64_t next() { return random_() % elements_; }

 private:
  std::uint64_t elements_;
  std::mt19937_64 random_{7};
};

Outcome<std::uint64_t> follow(const std::vector<std::uint64_t>& next, std::uint64_t at) {
  for (std::uint64_t step = 0; step < kDepth; ++step) at = next[at];
  return at;
}

// `window` chases in flight; begin(at) starts one, and step(future) says whether it is over or
// starts its next part.
template <class Begin, class Go>
Result<Sample> time_many(const Calls& calls, std::size_t window, Starts starts, const Begin& begin,
                         const Go& go_on) {
  struct Flight {
    Future<std::uint64_t> future;
    std::uint64_t left = 0;
    std::uint64_t began_ns = 0;
  };
  floors::RoundTrips times(calls.rounds);
  std::vector<Flight> flights(window);
  const auto start = [&](Flight& flight) {
    flight.left = kDepth;
    flight.began_ns = floors::now_ns();
    flight.future = begin(starts.next());
  };
  for (Flight& flight : flights) start(flight);
  std::uint64_t begin_ns = floors::now_ns();
  std::size_t ended = 0;
  for (std::size_t turn = 0; ended < calls.warm_up_rounds + calls.rounds; ++turn) {
    Flight& flight = flights[turn % window];
    const auto outcome = flight.future.get();
    GODWIT_CHECK(check(outcome));
    if (!go_on(flight.future, *outcome, flight.left)) {
      const std::uint64_t now_ns = floors::now_ns();
      if (++ended == calls.warm_up_rounds) begin_ns = now_ns;
      if (ended > calls.warm_up_rounds) times.add(now_ns - flight.began_ns);
      start(flight);
    }
  }
  const std::uint64_t end_ns = floors::now_ns();
  for (Flight& flight : flights) GODWIT_CHECK(check(flight.future.get()));
  return times.summarise(end_ns - begin_ns);
}

Result<Sample> time_gets(const Calls& calls, std::size_t window, Starts starts, const List& list) {
  return time_many(
      calls, window, starts, [&](std::uint64_t at) { return list.get(at); },
      [&](Future<std::uint64_t>& future, std::uint64_t at, std::uint64_t& left) {
        if (--left == 0) return false;
        future = list.get(at);
        return true;
      });
}

Result<Sample> time_travels(const Calls& calls, std::size_t window, Starts starts,
                            const List& list) {
  return time_many(
      calls, window, starts,
      [&](std::uint64_t at) { return ops::chase(list, at, kDepth, ops::Mechanism::code); },
      [](Future<std::uint64_t>&, std::uint64_t, std::uint64_t&) { return false; });
}

// `window` chases at a time, which share messages; each takes as long as all of them.
Result<Sample> time_batches(const Calls& calls, std::size_t window, Starts starts,
                            const List& list) {
  floors::RoundTrips times(calls.rounds);
  std::vector<ops::Chase> chases(window);
  std::uint64_t begin_ns = floors::now_ns();
  for (std::size_t ended = 0; ended < calls.warm_up_rounds + calls.rounds; ended += window) {
    for (ops::Chase& chase : chases) chase = {starts.next(), kDepth};
    const std::uint64_t start_ns = floors::now_ns();
    if (ended <= calls.warm_up_rounds) begin_ns = start_ns;
    const auto ends = ops::chase_many(list, chases, ops::Mechanism::code);
    const std::uint64_t now_ns = floors::now_ns();
    for (const auto& end : ends) {
      GODWIT_CHECK(check(end));
      if (ended >= calls.warm_up_rounds) times.add(now_ns - start_ns);
    }
  }
  return times.summarise(floors::now_ns() - begin_ns);
}

struct Course {
  LocalTransport transport = LocalTransport::tcp;
  std::size_t nodes = 4;
};

std::string name_of(const char* what, const Course& course, std::size_t window) {
  return fmt::format("{}, {}, {} node{}, {} in flight", what,
                     course.transport == LocalTransport::tcp ? "tcp" : "shm", course.nodes,
                     course.nodes == 1 ? "" : "s", window);
}

Result<std::vector<Row>> run_course(const Course& course, const Settings& settings,
                                    floors::ForkServer& floors) {
  const std::uint64_t elements = std::uint64_t{1} << (settings.quick ? 18 : 22);
  const std::vector<std::uint64_t> next = random_cycle(elements);
  run_on_core(-1);
  LocalOptions options;
  options.transport = course.transport;
  GODWIT_TRY(Fleet fleet, Fleet::local(course.nodes, options));
  GODWIT_TRY(List list, List::create(fleet, "list", {.elements = elements}));
  GODWIT_CHECK(check(list.store(0, next)));
  const List remote = list.through(Reach::message);
  const Starts starts(elements);
  const std::size_t few = settings.quick ? 30 : 100;
  const Calls slow{.rounds = few, .warm_up_rounds = few / 5};
  const Calls many{.rounds = 10 * few, .warm_up_rounds = 2 * few};

  Contest contest(floors);
  contest.add(name_of("GET per step", course, 1),
              [&] { return time_gets(slow, 1, starts, remote); });
  contest.add(name_of("GET per step", course, kWindow),
              [&] { return time_gets(many, kWindow, starts, remote); });
  contest.add(name_of("godwit", course, 1), [&] { return time_travels(slow, 1, starts, remote); });
  contest.add(name_of("godwit", course, kWindow),
              [&] { return time_travels(many, kWindow, starts, remote); });
  const bool mapped = course.transport == LocalTransport::shm;
  if (mapped) {
    contest.add(name_of("own memory", course, 1), [&, at = starts]() mutable {
      return time_calls({.rounds = 20'000}, [&] { return follow(next, at.next()); });
    });
    contest.add(name_of("godwit, mapped", course, 1), [&, at = starts]() mutable {
      return time_calls({.rounds = 20'000}, [&] {
        return ops::chase(list, at.next(), kDepth, ops::Mechanism::direct).get();
      });
    });
  }
  const bool goal = course.transport == LocalTransport::tcp && course.nodes == 4;
  const Calls thousands{.rounds = 4 * kManyInFlight, .warm_up_rounds = kManyInFlight};
  if (goal) {
    contest.add(name_of("godwit", course, kManyInFlight),
                [&] { return time_travels(thousands, kManyInFlight, starts, remote); });
    for (const std::size_t window : {std::size_t{1}, kWindow, kManyInFlight}) {
      const Calls& calls = window == 1 ? slow : thousands;
      contest.add(name_of("godwit, chase_many", course, window),
                  [&, window] { return time_batches(calls, window, starts, remote); });
    }
  }
  GODWIT_TRY(std::vector<Row> rows, contest.run({.seconds = settings.seconds / 6}));
  using Kind = Goal::Kind;
  rows[1] = beside(rows[1], rows[0], By::rate);
  rows[2] = beside(rows[2], rows[0], By::rate,
                   goal ? std::optional(Goal{Kind::ratio_at_least, 1.7}) : std::nullopt);
  rows[3] = beside(rows[3], rows[0], By::rate,
                   goal ? std::optional(Goal{Kind::ratio_at_least, 10}) : std::nullopt);
  if (goal) {
    for (std::size_t i = 4; i < rows.size(); ++i) rows[i] = beside(rows[i], rows[0], By::rate);
  }
  if (mapped) rows[5] = beside(rows[5], rows[4], By::rate, Goal{Kind::ratio_at_least, 0.8});
  for (Row& row : rows) row.more = {1e6 / row.sample.rate_per_s / static_cast<double>(kDepth)};
  return rows;
}

}  // namespace

Result<Table> run_chase(const Settings& settings, floors::ForkServer& floors) {
  Table table{.suite = "chase",
              .title = fmt::format("Following a list for {} steps, its elements in blocks over "
                                   "nodes of this machine",
                                   kDepth),
              .more_columns = {"us/step"}};
  for (const auto transport : {LocalTransport::shm, LocalTransport::tcp}) {
    for (const std::size_t nodes : {1, 2, 4}) {
      GODWIT_TRY(const std::vector<Row> rows, run_course({transport, nodes}, settings, floors));
      table.rows.insert(table.rows.end(), rows.begin(), rows.end());
    }
  }
  table.notes.push_back(
      "A row's times are those of whole chases; the ratio is of rates of chases, and more is "
      "better. A get for each step asks the element's home and waits; with 64 in flight, 64 chases "
      "take turns; chase_many makes all of a row's at once, and each takes as long as all of them. "
      "All nodes and the client share the cores of this machine.");
  return table;
}

}  // namespace godwit::bench
