#include "chase/course.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "calls.hpp"
#include "godwit/ops/many.hpp"

namespace godwit::bench {
namespace {

using floors::now_ns;
using List = Course::List;
using Reached = Outcome<std::uint64_t>;

// Counts chases, and says when there are enough.
class Tally {
 public:
  Tally(const Point& point, std::uint64_t elements, const Enough& enough)
      : enough_(enough),
        leap_(floors::ChaseOrder(elements).leap(point.depth)),
        times_(enough.chases),
        in_flight_(point.in_flight),
        warm_up_(point.in_flight) {}

  // Before the first chase, and once more when as many have ended as are in flight.
  void begin() { begin_ns_ = now_ns(); }
  // Chases that began together end together: only whole batches of them make a rate.
  [[nodiscard]] bool is_enough() const {
    if (times_.size() >= enough_.chases) return true;
    return times_.size() > 0 && times_.size() % in_flight_ == 0 &&
           ended_ns_ - begin_ns_ > enough_.time_ns;
  }
  Status add(std::uint64_t from, std::uint64_t began_ns, const Reached& reached) {
    GODWIT_CHECK(check(reached));
    if (*reached != leap_.from(from)) {
      return fail(ErrorCode::internal, "a chase from {} ended at {} and not at {}", from, *reached,
                  leap_.from(from));
    }
    ended_ns_ = now_ns();
    if (warm_up_ > 0) {
      if (--warm_up_ == 0) begin_ns_ = ended_ns_;
      return {};
    }
    times_.add(ended_ns_ - began_ns);
    return {};
  }
  [[nodiscard]] floors::Sample sample() { return times_.summarise(ended_ns_ - begin_ns_); }

 private:
  const Enough enough_;
  const floors::ChaseOrder::Leap leap_;
  floors::RoundTrips times_;
  const std::size_t in_flight_;
  std::size_t warm_up_;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t ended_ns_ = 0;
};

// One chase at a time: `chase(at)` makes one.
template <class Chase>
Result<floors::Sample> time_one(Tally tally, floors::ChaseStarts starts, const Chase& chase) {
  tally.begin();
  while (!tally.is_enough()) {
    const std::uint64_t from = starts.next();
    const std::uint64_t began_ns = now_ns();
    GODWIT_CHECK(tally.add(from, began_ns, chase(from)));
  }
  return tally.sample();
}

// `in_flight` chases, waited for in turn: `begin(at)` starts one, `go_on(future, at, left)` its
// next step if there is one.
template <class Begin, class GoOn>
Result<floors::Sample> time_many(const Point& point, Tally tally, floors::ChaseStarts starts,
                                 const Begin& begin, const GoOn& go_on) {
  struct Flight {
    Future<std::uint64_t> future;
    std::uint64_t from = 0;
    std::uint64_t left = 0;
    std::uint64_t began_ns = 0;
  };
  std::vector<Flight> flights(point.in_flight);
  const auto start = [&](Flight& flight) {
    flight.from = starts.next();
    flight.left = point.depth;
    flight.began_ns = now_ns();
    flight.future = begin(flight.from);
  };
  tally.begin();
  for (Flight& flight : flights) start(flight);
  for (std::size_t turn = 0; !tally.is_enough(); ++turn) {
    Flight& flight = flights[turn % flights.size()];
    const Reached reached = flight.future.get();
    if (reached && go_on(flight.future, *reached, flight.left)) continue;
    GODWIT_CHECK(tally.add(flight.from, flight.began_ns, reached));
    start(flight);
  }
  const floors::Sample sample = tally.sample();
  for (Flight& flight : flights) GODWIT_CHECK(check(flight.future.get()));
  return sample;
}

// `in_flight` chases a call, which ends when all of them have ended.
Result<floors::Sample> time_batches(const Point& point, Tally tally, floors::ChaseStarts starts,
                                    const List& list) {
  std::vector<ops::Chase> chases(point.in_flight, {.steps = point.depth});
  tally.begin();
  while (!tally.is_enough()) {
    for (ops::Chase& chase : chases) chase.at = starts.next();
    const std::uint64_t began_ns = now_ns();
    const auto reached = ops::chase_many(list, chases, ops::Mechanism::code);
    for (std::size_t i = 0; i < chases.size(); ++i) {
      GODWIT_CHECK(tally.add(chases[i].at, began_ns, reached[i]));
    }
  }
  return tally.sample();
}

// One get after the other.
Reached follow(const List& list, std::uint64_t at, std::uint64_t steps) {
  for (; steps > 0; --steps) {
    Reached next = list.load(at);
    if (!next) return next;
    at = *next;
  }
  return at;
}

}  // namespace

Result<std::unique_ptr<Course>> Course::create(Fleet fleet, std::span<const std::uint64_t> next) {
  std::unique_ptr<Course> course(new Course(std::move(fleet), next));
  GODWIT_TRY(course->list_, List::create(course->fleet_, "list", {.elements = next.size()}));
  GODWIT_CHECK(check(course->list_->store(0, next)));
  // Page tables of the mappings are filled on first touch, which is no part of a chase.
  constexpr std::uint64_t kPage = 4096 / sizeof(std::uint64_t);
  const auto shards = course->list_->describe().shards;
  const bool mapped = std::ranges::all_of(shards, &ShardDescription::mapped);
  for (std::uint64_t i = 0; mapped && i < next.size(); i += kPage) {
    GODWIT_CHECK(check(course->list_->load(i)));
  }
  return course;
}

Result<floors::Sample> Course::measure(Column column, const Point& point,
                                       const Enough& enough) const {
  const List& mapped = *list_;
  const List remote = mapped.through(Reach::message);
  const floors::ChaseStarts starts(next_.size());
  const auto tally = [&](std::size_t in_flight) {
    Point counted = point;
    counted.in_flight = in_flight;
    return Tally(counted, next_.size(), enough);
  };
  switch (column) {
    case Column::get:
      return time_one(tally(1), starts,
                      [&](std::uint64_t at) { return follow(remote, at, point.depth); });
    case Column::pipelined:
      return time_many(
          point, tally(point.in_flight), starts, [&](std::uint64_t at) { return remote.get(at); },
          [&](Future<std::uint64_t>& future, std::uint64_t at, std::uint64_t& left) {
            if (--left == 0) return false;
            future = remote.get(at);
            return true;
          });
    case Column::godwit:
      return time_many(
          point, tally(point.in_flight), starts,
          [&](std::uint64_t at) {
            return ops::chase(remote, at, point.depth, ops::Mechanism::code);
          },
          [](Future<std::uint64_t>&, std::uint64_t, std::uint64_t&) { return false; });
    case Column::many: return time_batches(point, tally(point.in_flight), starts, remote);
    case Column::own:
      return time_one(tally(1), starts, [&](std::uint64_t at) {
        for (std::uint64_t left = point.depth; left > 0; --left) at = next_[at];
        return Reached(at);
      });
    case Column::mapped:
      return time_one(tally(1), starts, [&](std::uint64_t at) {
        return ops::chase(mapped, at, point.depth, ops::Mechanism::direct).get();
      });
    case Column::ucp_am: break;
  }
  return fail(ErrorCode::invalid_argument, "a floor has no fleet");
}

}  // namespace godwit::bench
