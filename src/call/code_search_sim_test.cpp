// Code that whoever was asked does not have any more: found elsewhere, or said to be nowhere.
#include <gtest/gtest.h>

#include "call/raw_peer.hpp"

namespace godwit::call::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A client that keeps one bundle of those it let go of.
SimFleet::Shape forgetful() {
  SimFleet::Shape shape;
  shape.clients = 1;
  shape.hold_bundles = false;
  shape.reopen_chance = 0;
  shape.kept = {.max_bytes = 1, .max_bundles = 1};
  return shape;
}

class CodeInAFleet : public testing::Test {
 protected:
  SimProcess& client(SimFleet& fleet) { return *fleet.at(fleet.client_process(0)); }
  SimProcess& node(SimFleet& fleet, std::size_t index) {
    return *fleet.at(fleet.node_process(index));
  }
  Record& run(SimFleet& fleet, std::size_t on, std::size_t bundle, SimFunction function = work) {
    Record& record =
        fleet.call(fleet.client_process(0), fleet.node(on), bundle, function, 0, seconds(10));
    EXPECT_TRUE(fleet.world().run_until([&] { return record.ended == 1; }, seconds(20)));
    return record;
  }
  // Bundle 0 is on node 0, and the client has forgotten it.
  void forget_the_code(SimFleet& fleet) {
    EXPECT_EQ(run(fleet, 0, 0).outcome.ending, Ending::ok);
    EXPECT_EQ(run(fleet, 3, 1).outcome.ending, Ending::ok);
    ASSERT_FALSE(client(fleet).functions.bundle(fleet.bundle(0).id()));
  }
};

TEST_F(CodeInAFleet, ACallerThatForgotTheCodeRefersToANodeItGaveItTo) {
  SimFleet fleet(3, {}, forgetful());
  forget_the_code(fleet);
  const Record& record = run(fleet, 1, 0);
  EXPECT_EQ(record.outcome.ending, Ending::ok) << record.text;
  EXPECT_EQ(client(fleet).engine->stats().referrals_given, 1U);
  EXPECT_EQ(node(fleet, 1).engine->stats().referrals_followed, 1U);
  EXPECT_EQ(node(fleet, 0).engine->stats().code_sent, 1U);
}

TEST_F(CodeInAFleet, CodeThatNobodyHasAnyMoreEndsTheCallWithWords) {
  SimFleet fleet(3, {}, forgetful());
  forget_the_code(fleet);
  ASSERT_TRUE(node(fleet, 0).store->evict(fleet.bundle(0).id()));
  const Record& record = run(fleet, 1, 0);
  EXPECT_EQ(record.outcome.ending, Ending::rejected);
  EXPECT_EQ(record.outcome.reason, ErrorCode::unknown_code);
  EXPECT_FALSE(record.outcome.may_have_started);
  EXPECT_NE(record.text.find("none of the 2 that were asked has bundle"), std::string::npos)
      << record.text;
}

TEST_F(CodeInAFleet, ANodeThatIsGoneIsNotWaitedFor) {
  SimFleet fleet(3, {}, forgetful());
  forget_the_code(fleet);
  fleet.world().crash(fleet.node_process(0));
  const Time before = fleet.world().now();
  const Record& record = run(fleet, 1, 0);
  EXPECT_EQ(record.outcome.reason, ErrorCode::unknown_code) << record.text;
  EXPECT_NE(record.text.find("cannot reach"), std::string::npos) << record.text;
  EXPECT_LT(fleet.world().now() - before, seconds(1));
}

TEST_F(CodeInAFleet, ANodeThatDiesWhileItIsAskedIsNotWaitedFor) {
  SimFleet fleet(3, {}, forgetful());
  forget_the_code(fleet);
  fleet.world().set_slow(fleet.node_process(0), milliseconds(200));
  Record& record = fleet.call(fleet.client_process(0), fleet.node(1), 0, work, 0, seconds(60));
  ASSERT_TRUE(fleet.world().run_until(
      [&] { return node(fleet, 1).engine->stats().need_code_sent == 2; }, seconds(5)));
  fleet.world().crash(fleet.node_process(0));
  ASSERT_TRUE(fleet.world().run_until([&] { return record.ended == 1; }, seconds(5)));
  EXPECT_EQ(record.outcome.reason, ErrorCode::unknown_code) << record.text;
}

// The intake alone can reach the client that has the code.
TEST_F(CodeInAFleet, TheIntakeOfATravellingCallFetchesTheCodeFromItsOrigin) {
  SimFleet::Shape shape;
  shape.nodes = 2;
  shape.clients = 1;
  SimFleet fleet(5, {}, shape);
  Record& record = fleet.call(fleet.client_process(0), fleet.node(0), 0, travel, 1, seconds(10));
  ASSERT_TRUE(fleet.world().run_until([&] { return fleet.executions().contains({record.key, 1}); },
                                      seconds(5)));
  ASSERT_TRUE(node(fleet, 0).store->evict(fleet.bundle(0).id()));
  ASSERT_TRUE(fleet.world().run_until([&] { return record.ended == 1; }, seconds(5)));
  EXPECT_EQ(record.outcome.ending, Ending::ok) << record.text;
  EXPECT_EQ(node(fleet, 0).engine->stats().code_relayed, 1U);
  EXPECT_EQ(client(fleet).engine->stats().code_sent, 2U);
}

// Sends a call of a bundle by name, as a caller does that has not learnt a token.
void call_by_name(RawPeer& peer, const ContentId& bundle) {
  wire::CodeExtension code;
  code.bundle = bundle;
  wire::Header header;
  header.kind = wire::Kind::call;
  header.id = 1;
  header.aux = 30'000;
  header.extension_size = sizeof code;
  peer.send(header, bytes_of_value(code));
}

TEST_F(CodeInAFleet, WhoNeverAnswersDoesNotKeepTheCallsOfOthersWaiting) {
  SimFleet fleet(7, {}, {});
  RawPeer silent(fleet);
  ASSERT_TRUE(fleet.world().run_until([&] { return silent.up; }, seconds(5)));
  call_by_name(silent, fleet.bundle(0).id());
  ASSERT_TRUE(fleet.world().run_until([&] { return silent.answers == 1; }, seconds(5)));
  ASSERT_EQ(silent.last.kind, wire::Kind::need_code);
  Record& record = fleet.call(fleet.client_process(0), fleet.node(0), 0, work, 0, seconds(30));
  ASSERT_TRUE(fleet.world().run_until([&] { return record.ended == 1; }, seconds(5)));
  EXPECT_EQ(record.outcome.ending, Ending::ok) << record.text;
  EXPECT_TRUE(fleet.world().run_until([&] { return silent.answers == 2; }, seconds(5)));
  EXPECT_EQ(silent.last.kind, wire::Kind::reply) << "its own call has run, too";
}

TEST_F(CodeInAFleet, ALinkThatBreaksWhileTheCodeIsLoadedEndsNoCallOfOthers) {
  fabric::sim::Options slow;
  slow.load_delay = {seconds(1), seconds(1)};
  SimFleet fleet(7, slow, {});
  RawPeer silent(fleet);
  ASSERT_TRUE(fleet.world().run_until([&] { return silent.up; }, seconds(5)));
  const ContentId bundle = fleet.bundle(0).id();
  call_by_name(silent, bundle);
  ASSERT_TRUE(fleet.world().run_until([&] { return silent.answers == 1; }, seconds(5)));
  Record& record = fleet.call(fleet.client_process(0), fleet.node(0), 0, work, 0, seconds(30));
  ASSERT_TRUE(fleet.world().run_until(
      [&] { return node(fleet, 0).store->residence(bundle) != nullptr; }, seconds(10)));
  ASSERT_EQ(record.ended, 0U) << "it is being loaded";
  ASSERT_EQ(fleet.world().break_links(silent.id, fleet.node_process(0)), 1U);
  ASSERT_TRUE(fleet.world().run_until([&] { return record.ended == 1; }, seconds(5)));
  EXPECT_EQ(record.outcome.ending, Ending::ok) << record.text;
}

TEST_F(CodeInAFleet, AReferralToNobodyEndsTheCall) {
  SimFleet fleet(8, {}, {});
  RawPeer liar(fleet);
  ASSERT_TRUE(fleet.world().run_until([&] { return liar.up; }, seconds(5)));
  const ContentId bundle = ContentId::of(bytes_of("no such code"));
  call_by_name(liar, bundle);
  ASSERT_TRUE(fleet.world().run_until([&] { return liar.answers == 1; }, seconds(5)));
  wire::Header header;
  header.kind = wire::Kind::code;
  header.id = liar.last.id;
  wire::CodeHead head;
  head.bundle = bundle;
  head.reason = static_cast<std::uint32_t>(ErrorCode::unknown_code);
  head.referral = 0x1234;
  liar.send(header, bytes_of_value(head));
  ASSERT_TRUE(fleet.world().run_until([&] { return liar.answers == 2; }, seconds(2)))
      << "no news of it came";
  EXPECT_EQ(liar.last.kind, wire::Kind::reply);
  EXPECT_EQ(wire::unpack_outcome(liar.last.aux).reason, ErrorCode::unknown_code);
  EXPECT_EQ(node(fleet, 0).engine->calls_inside(), 0U);
}

// Two nodes that each think the other has the code must not keep asking.
TEST_F(CodeInAFleet, ReferralsInACircleEnd) {
  SimFleet fleet(3, {}, forgetful());
  forget_the_code(fleet);
  EXPECT_EQ(run(fleet, 1, 0).outcome.ending, Ending::ok);
  EXPECT_EQ(run(fleet, 2, 0).outcome.ending, Ending::ok);
  for (std::size_t i = 0; i < 3; ++i) node(fleet, i).store->evict(fleet.bundle(0).id());
  const Record& record = run(fleet, 3, 0);
  EXPECT_EQ(record.outcome.reason, ErrorCode::unknown_code) << record.text;
  EXPECT_LE(node(fleet, 3).engine->stats().need_code_sent, CodeSearch::kMaxAsked + 1);
}

}  // namespace
}  // namespace godwit::call::sim
