// Calls that run again once what they wait for has happened.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "call/sim_fleet.hpp"
#include "trace/json_value.hpp"

namespace godwit::call::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Answers once it is ready.
class Oracle final : public Objects {
 public:
  explicit Oracle(Engine& engine) : engine_(engine) {}

  Result<bool> answer(const Asker& asker, Bytes request, ReplyBuffer& reply) override {
    if (broken) return fail(ErrorCode::not_found, "there is no such thing");
    if (trades && !asker.has_waited) {
      for (const std::uint64_t waiter : std::exchange(waiting, {})) asker.ready->push_back(waiter);
      waiting.insert(asker.waiter);
      return false;
    }
    if (!ready) {
      EXPECT_NE(asker.waiter, 0U);
      EXPECT_TRUE(waiting.insert(asker.waiter).second) << "a name is given once";
      return false;
    }
    if (asker.ready != nullptr) {
      for (const std::uint64_t waiter : std::exchange(waiting, {})) asker.ready->push_back(waiter);
    }
    Arguments arguments;
    std::memcpy(&arguments, request.data(), sizeof arguments);
    answered.emplace_back(arguments.key, asker.has_waited);
    inside.push_back(engine_.calls_inside());
    const std::uint64_t value = right_answer(arguments.key);
    std::memcpy(reply.make_room(sizeof value), &value, sizeof value);
    return true;
  }
  void stop_waiting(std::uint64_t waiter) override { EXPECT_EQ(waiting.erase(waiter), 1U); }
  Result<std::optional<Found>> find_at_once(const Handle&) override { return nothing(); }
  void find_all(std::span<Search>, Duration) override { ADD_FAILURE(); }
  Result<bool> is_settled(const Handle&, Duration, std::uint64_t) override { return nothing(); }
  Result<Handle> put(const ObjectToPut&) override { return nothing(); }
  bool is_home_of(const Handle&) const override { return true; }
  Result<Handle> settle(const Settling&) override { return nothing(); }
  void wake_all() {
    for (const std::uint64_t waiter : std::exchange(waiting, {})) engine_.run_again(waiter);
  }

  bool ready = false;
  bool trades = false;  // whoever asks makes the others ready, and waits for them
  bool broken = false;
  std::set<std::uint64_t> waiting;
  std::vector<std::pair<std::uint64_t, bool>> answered;  // keys, and whether they had waited
  std::vector<std::size_t> inside;                       // how many calls were there by then

 private:
  static tl::unexpected<Error> nothing() {
    return fail(ErrorCode::unsupported, "there are answers only");
  }

  Engine& engine_;
};

class Waiting : public testing::Test {
 protected:
  Waiting() : fleet_(11, {}, {}), oracle_(engine()) { engine().set_objects(&oracle_); }

  Engine& engine() { return *fleet_.at(fleet_.node_process(0))->engine; }
  Record& begin(Duration deadline = seconds(60)) {
    return fleet_.call(fleet_.client_process(0), fleet_.node(0), 0, ask, 0, deadline);
  }
  bool until(const std::function<bool()>& holds) {
    return fleet_.world().run_until(holds, seconds(30));
  }
  std::uint64_t waiting() {
    return trace::JsonValue::parse(engine().status()).value()["calls"]["waiting"].count();
  }

  SimFleet fleet_;
  Oracle oracle_;
};

TEST_F(Waiting, ACallRunsAgainWhenItIsTold) {
  const Record& call = begin();
  ASSERT_TRUE(until([&] { return waiting() == 1; }));
  EXPECT_EQ(call.ended, 0U);
  oracle_.wake_all();  // too early: it waits once more
  ASSERT_TRUE(until([&] { return oracle_.waiting.size() == 1 && waiting() == 1; }));
  oracle_.ready = true;
  oracle_.wake_all();
  ASSERT_TRUE(until([&] { return call.ended == 1; }));
  EXPECT_EQ(call.outcome.ending, Ending::ok);
  EXPECT_EQ(call.answer, right_answer(call.key));
  EXPECT_EQ((fleet_.executions()[{call.key, 0}]), 3U);
  EXPECT_EQ(engine().calls_inside(), 0U);
}

TEST_F(Waiting, WhoHasWaitedLongestRunsFirst) {
  std::vector<std::pair<std::uint64_t, bool>> expected;
  for (std::uint64_t i = 1; i <= 5; ++i) {
    expected.emplace_back(begin().key, true);
    ASSERT_TRUE(until([&] { return waiting() == i; }));
  }
  oracle_.ready = true;
  expected.insert(expected.begin(), {begin().key, false});  // makes the others ready
  ASSERT_TRUE(until([&] { return fleet_.all_ended(); }));
  EXPECT_EQ(oracle_.answered, expected);
  EXPECT_EQ(waiting(), 0U);
}

// As a consumer whose fetch makes room for a producer, and who waits for what that sends.
TEST_F(Waiting, WhoIsMadeReadyByThoseItMadeReadyRunsAgain) {
  const Record& first = begin();
  ASSERT_TRUE(until([&] { return waiting() == 1; }));
  oracle_.ready = oracle_.trades = true;
  const Record& second = begin();
  ASSERT_TRUE(until([&] { return first.ended == 1 && second.ended == 1; }));
  EXPECT_EQ(second.answer, right_answer(second.key));
  EXPECT_EQ(waiting(), 0U);
}

// The first caller does not wait for all others' functions, nor does the stack grow with them.
TEST_F(Waiting, EachIsAnsweredBeforeTheNextOneRuns) {
  constexpr std::size_t kCount = 1000;
  for (std::size_t i = 0; i < kCount; ++i) begin();
  ASSERT_TRUE(until([&] { return oracle_.waiting.size() == kCount; }));
  oracle_.ready = true;
  begin();  // makes the others ready, and is answered after them
  ASSERT_TRUE(until([&] { return fleet_.all_ended(); }));
  ASSERT_EQ(oracle_.inside.size(), kCount + 1);
  for (std::size_t i = 1; i < kCount; ++i) {
    EXPECT_EQ(oracle_.inside[i + 1], oracle_.inside[i] - 1);
  }
}

TEST_F(Waiting, WhatIsThereIsAnsweredAtOnce) {
  oracle_.ready = true;
  const Record& call = begin();
  ASSERT_TRUE(until([&] { return call.ended == 1; }));
  EXPECT_EQ(call.answer, right_answer(call.key));
}

TEST_F(Waiting, TheReasonOfARefusalReachesTheCaller) {
  oracle_.broken = true;
  const Record& call = begin();
  ASSERT_TRUE(until([&] { return call.ended == 1; }));
  EXPECT_EQ(call.outcome.ending, Ending::app_error);
  EXPECT_EQ(call.outcome.reason, ErrorCode::not_found);
}

// Far more than the credits of the link, which others need too.
TEST_F(Waiting, ManyWaitWithoutKeepingOthersOut) {
  std::vector<Record*> calls;
  for (int i = 0; i < 200; ++i) calls.push_back(&begin());
  ASSERT_TRUE(until([&] { return waiting() == 200; }));
  const Record& other =
      fleet_.call(fleet_.client_process(0), fleet_.node(0), 0, echo, 0, seconds(10));
  ASSERT_TRUE(until([&] { return other.ended == 1; }));
  oracle_.ready = true;
  oracle_.wake_all();
  ASSERT_TRUE(until([&] { return fleet_.all_ended(); }));
  for (const Record* call : calls) EXPECT_EQ(call->answer, right_answer(call->key));
}

TEST_F(Waiting, TheDeadlineEndsIt) {
  const Record& call = begin(milliseconds(500));
  ASSERT_TRUE(until([&] { return call.ended == 1; }));
  EXPECT_EQ(call.outcome.ending, Ending::deadline);
  ASSERT_TRUE(until([&] { return waiting() == 0; }));
  EXPECT_TRUE(oracle_.waiting.empty()) << "nobody is told any more";
}

TEST_F(Waiting, ACallerThatDiesLeavesNothing) {
  begin();
  begin();
  ASSERT_TRUE(until([&] { return waiting() == 2; }));
  fleet_.world().crash(fleet_.client_process(0));
  ASSERT_TRUE(until([&] { return waiting() == 0; }));
  EXPECT_TRUE(oracle_.waiting.empty());
  EXPECT_EQ(engine().calls_inside(), 0U);
}

}  // namespace
}  // namespace godwit::call::sim
