#include <chrono>
#include <thread>

#include "calls.hpp"
#include "ref/contenders.hpp"
#include "ref/stops.hpp"
#include "ref/suites.hpp"
#include "ref/timing.hpp"
#include "ref/wire.hpp"

namespace godwit::bench {
namespace {

using Do = Order::Do;

// While it lives all threads of this process run there; afterwards, where they did.
class OnCore {
 public:
  OnCore(int core, int before) : before_(before) { run_process_on_core(core); }
  ~OnCore() { run_process_on_core(before_); }
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;

 private:
  const int before_;
};

// Until whoever waits has been waiting for a while.
void pause_before(Waiting waiting) {
  const bool spins = waiting == Waiting::poll;
  const std::uint64_t from_ns = floors::now_ns() + (spins ? 200'000 : 1'000'000);
  if (!spins) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  while (floors::now_ns() < from_ns) std::this_thread::yield();
}

// From before `tell` here to when the far side has it; `tell` is given the time to send. By then
// the far side has been waiting for a while.
template <class Tell>
Result<std::uint64_t> told(Setup& setup, const Order& order, const Tell& tell) {
  GODWIT_CHECK(setup.far().send(order));
  GODWIT_TRY(const std::uint64_t ready, setup.far().receive(Waiting::sleep));
  static_cast<void>(ready);
  pause_before(order.waiting);
  GODWIT_CHECK(tell(floors::now_ns()));
  return setup.far().receive(Waiting::sleep);
}

Enough enough_of(const Scope& scope) {
  return {.time_ns = UINT64_MAX, .rounds = scope.quick ? 50U : 400U, .least = 3};
}

Result<Sample> by_promise(Setup& setup) {
  return time_parts(enough_of(setup.scope()), [&]() -> Result<std::uint64_t> {
    GODWIT_TRY(auto promise, Promise<std::uint64_t>::make(setup.node()));
    Order order = setup.order(Do::await_object);
    order.handle = promise.ref().handle();
    std::optional<Ref<std::uint64_t>> kept;
    GODWIT_TRY(const std::uint64_t time_ns, told(setup, order, [&](std::uint64_t now_ns) -> Status {
                 GODWIT_TRY(kept, promise.set(now_ns));
                 return {};
               }));
    GODWIT_CHECK(kept->evict());
    return Result<std::uint64_t>(time_ns);
  });
}

// The producer is a function at the home: nobody stands between it and the consumer.
Result<Sample> by_function(Setup& setup) {
  // The answer to this process's call is not to disturb the consumer.
  const OnCore beside_the_node(setup.scope().node_core, setup.scope().client_core);
  GODWIT_TRY(const Bundle code, open_bundle("bench_ref.gdw"));
  GODWIT_TRY(const auto keep, code.function<std::int32_t(Ref<std::uint64_t>)>("keep_now"));
  // An inline function has no time to make memory ready: the node's first object sees to that.
  const NodeHandle node = setup.node();
  GODWIT_TRY(const auto first, node.put(std::uint64_t{0}));
  GODWIT_CHECK(first.evict());
  return time_parts(enough_of(setup.scope()), [&]() -> Result<std::uint64_t> {
    GODWIT_TRY(auto promise, Promise<std::uint64_t>::make(node));
    const Ref<std::uint64_t> ref = promise.hand_over();
    Order order = setup.order(Do::await_object);
    order.handle = ref.handle();
    std::optional<Future<std::int32_t>> kept;
    GODWIT_TRY(const std::uint64_t time_ns, told(setup, order, [&](std::uint64_t) -> Status {
                 kept.emplace(keep.on(node)(ref));
                 return {};
               }));
    const auto error = kept->get();
    if (!error) return fail(error.error().reason, "{}", error.error().message);
    if (*error != 0) return fail(static_cast<ErrorCode>(*error), "the promise was not kept");
    GODWIT_CHECK(ref.evict());
    return Result<std::uint64_t>(time_ns);
  });
}

// What comes back from the node after as long a pause: an answer, and nothing else.
Result<Sample> by_answer(Setup& setup) {
  GODWIT_TRY(const Bundle code, open_bundle("bench_ref.gdw"));
  GODWIT_TRY(const auto tell, code.function<std::uint64_t()>("tell_now"));
  return time_parts(enough_of(setup.scope()), [&]() -> Result<std::uint64_t> {
    pause_before(setup.options().waiting());
    const auto told_ns = tell.on(setup.node())().get();
    if (!told_ns) return fail(told_ns.error().reason, "{}", told_ns.error().message);
    return floors::now_ns() - *told_ns;
  });
}

// `to` leads to the far side.
Result<Sample> by_pipe(Setup& setup, int to) {
  return time_parts(enough_of(setup.scope()), [&] {
    return told(setup, setup.order(Do::await_pipe),
                [&](std::uint64_t now_ns) { return send_value(to, now_ns); });
  });
}

// As from the node.
Result<Sample> by_pipe_from_node(Setup& setup) {
  const OnCore beside_the_node(setup.scope().node_core, setup.scope().client_core);
  return by_pipe(setup, setup.far().pipe());
}

// As to the node, and on from there.
Result<Sample> by_two_pipes(Setup& setup) {
  GODWIT_TRY(const Stop stop, Stop::by_pipe(setup.far().pipe(), setup.scope().node_core));
  return by_pipe(setup, stop.fd());
}

Result<Sample> by_flag(Setup& setup) {
  Order order = setup.order(Do::await_flag);
  order.core = setup.scope().node_core;
  return time_parts(enough_of(setup.scope()), [&] {
    return told(setup, order, [&](std::uint64_t now_ns) -> Status {
      Stage::Lane& lane = setup.far().stage().question;
      lane.value = now_ns;
      lane.turn.fetch_add(1, std::memory_order_release);
      return {};
    });
  });
}

Status measure_futures(const Scope& scope, LocalTransport transport, std::int64_t spin_us,
                       Table& table) {
  const bool spins = spin_us > 0;
  GODWIT_TRY(
      const auto setup,
      Setup::start(scope, {.transport = transport, .spin_us = spin_us, .largest_bytes = 4'096}));
  const std::string way = fmt::format("{}, {}", transport == LocalTransport::shm ? "shm" : "tcp",
                                      spins ? "spinning" : "sleeping");
  const bool shm = transport == LocalTransport::shm;
  Contenders all;
  const std::string floor =
      (spins && shm ? "flag in shared memory, " : "pipe from the node's core, ") + way;
  std::string floor_of_third = floor;
  all.add_floor(floor, 0,
                [&] { return spins && shm ? by_flag(*setup) : by_pipe_from_node(*setup); });
  // As many sleeping threads are woken, on the same cores, as by the future.
  if (!spins) {
    floor_of_third = "two pipes by the node's core, " + way;
    all.add_floor(floor_of_third, 0, [&] { return by_two_pipes(*setup); });
  }
  all.add(
      "godwit call's answer, " + way, 0, [&] { return by_answer(*setup); },
      Contenders::Beside{floor, By::p50, std::nullopt});
  const std::optional<Goal> goal =
      shm ? std::optional(Goal{Goal::Kind::p50_below_us, spins ? 3.0 : 100.0}) : std::nullopt;
  all.add(
      "godwit future, kept at its home, " + way, 0, [&] { return by_function(*setup); },
      Contenders::Beside{floor, By::p50, goal});
  // Three that spin on two cores wait for each other's turns, whoever they are.
  all.add(
      "godwit future, kept by a third, " + way, 0, [&] { return by_promise(*setup); },
      Contenders::Beside{floor_of_third, By::p50, spins ? std::nullopt : goal});
  return all.run(scope.quick ? 1 : 3, table);
}

}  // namespace

Result<Table> run_ref_futures(const Scope& scope) {
  Table table{
      .suite = "futures",
      .title = "From when a promise is kept in one process until Ref::wait returns in another"};
  for (const LocalTransport transport : {LocalTransport::shm, LocalTransport::tcp}) {
    for (const std::int64_t spin_us : {std::int64_t{0}, kPollingSpinUs}) {
      GODWIT_CHECK(measure_futures(scope, transport, spin_us, table));
    }
  }
  table.notes.emplace_back(
      "The node has a core, the consumer the other. The process that has a promise kept at its "
      "home "
      "shares the node's core; one that keeps a promise, the consumer's, and each of those that "
      "spin gives it away between looks: then the goal is not one that two cores can meet. A "
      "sleeping thread is woken from the other core by each pipe, as by each message of a "
      "future's.");
  return table;
}

}  // namespace godwit::bench
