// When a call may be sent a second time, and what is said of it afterwards.
#include <gtest/gtest.h>

#include "call/raw_peer.hpp"

namespace godwit::call::sim {
namespace {

using std::chrono::seconds;

// A node of the fleet calls a peer whose answers the test makes up.
class Resend : public ::testing::Test {
 protected:
  Resend() : fleet_(5, reliable(), {}), peer_(fleet_) {
    EXPECT_TRUE(fleet_.world().run_until([&] { return peer_.up; }, seconds(5)));
  }
  static fabric::sim::Options reliable() {
    fabric::sim::Options options;
    options.later_chance = 0;
    return options;
  }
  Record& call(SimFunction function) {
    const std::size_t before = peer_.answers;
    Record& record = fleet_.call(fleet_.node_process(0), fleet_.world().node_id(peer_.id), 0,
                                 function, 0, seconds(30));
    EXPECT_TRUE(await_calls(before + 1));
    return record;
  }
  bool await_calls(std::size_t count) {
    return fleet_.world().run_until(
        [&] { return peer_.answers == count && peer_.last.kind == wire::Kind::call; }, seconds(5));
  }
  void answer(wire::OutcomeWord outcome, std::uint64_t token) {
    wire::Header reply;
    reply.kind = wire::Kind::reply;
    reply.id = peer_.last.id;
    reply.subject = token;
    reply.aux = wire::pack(outcome);
    peer_.send(reply, {});
    fleet_.world().run_for(std::chrono::milliseconds(100));
  }

  static constexpr std::uint64_t kToken = 42;
  SimFleet fleet_;
  RawPeer peer_;
};

TEST_F(Resend, StaleTokenIsReplacedByTheFullName) {
  call(work);
  answer({Ending::ok, true, ErrorCode::none}, kToken);
  Record& record = call(work);
  EXPECT_EQ(peer_.last.subject, kToken);
  answer({Ending::rejected, false, ErrorCode::unknown_code}, 0);
  ASSERT_TRUE(await_calls(3));
  EXPECT_EQ(peer_.last.subject, 0U);
  EXPECT_GT(peer_.last.extension_size, 0U);
  EXPECT_EQ(record.ended, 0U);
}

// A travelling call whose code was lost on its way ends as unknown_code too.
TEST_F(Resend, CallThatHasStartedIsNotSentAgainForALackOfCode) {
  call(travel);
  answer({Ending::ok, true, ErrorCode::none}, kToken);
  Record& record = call(travel);
  EXPECT_EQ(peer_.last.subject, kToken);
  answer({Ending::rejected, true, ErrorCode::unknown_code}, 0);
  EXPECT_EQ(peer_.answers, 2U);
  EXPECT_EQ(record.ended, 1U);
  EXPECT_EQ(record.outcome.ending, Ending::rejected);
  EXPECT_TRUE(record.outcome.may_have_started);
}

TEST_F(Resend, CallOfALostLinkMayHaveStartedWhateverTheNextNodeSays) {
  Record& record = call(idempotent_work);
  peer_.transport->close(peer_.link);
  ASSERT_TRUE(fleet_.world().run_until([&] { return !peer_.up; }, seconds(5)));
  peer_.link = peer_.transport->connect(fleet_.world().address(fleet_.node_process(0))).value();
  ASSERT_TRUE(await_calls(2)) << "an idempotent call is sent again";
  answer({Ending::rejected, false, ErrorCode::overload}, 0);
  EXPECT_EQ(record.ended, 1U);
  EXPECT_EQ(record.outcome.ending, Ending::rejected);
  EXPECT_TRUE(record.outcome.may_have_started);
}

}  // namespace
}  // namespace godwit::call::sim
