// Whom a search asks, in which order, and how it ends; on links that are only records of it.
#include "call/code_search.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "fabric/sim/world.hpp"

namespace godwit::call {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A peer with one link to it, or none.
struct Neighbour {
  explicit Neighbour(std::uint64_t id) {
    peer.id = NodeId{id};
    link.peer = &peer;
  }
  Peer peer;
  LinkState link;
};

class SearchForCode : public testing::Test, protected CodeSearchHost {
 protected:
  struct Asked {
    NodeId node;
    std::uint64_t id = 0;
    std::uint64_t intake_call = 0;
  };
  struct Ended {
    IncomingCall* call = nullptr;
    Ending ending = Ending::ok;
    Error why;
  };
  static constexpr NodeId kSelf{1};

  Neighbour& neighbour(std::uint64_t id) {
    for (Neighbour& known : neighbours_) {
      if (known.peer.id.value == id) return known;
    }
    return neighbours_.emplace_back(id);
  }
  IncomingCall& park(std::uint64_t from, Duration deadline = seconds(300)) {
    IncomingCall& call = calls_.emplace_back();
    call.link = &neighbour(from).link;
    call.bundle_id = bundle_;
    call.deadline = world_.now() + deadline;
    search_.park(call);
    return call;
  }
  IncomingCall& park_travelling(std::uint64_t from, wire::IntakeId intake) {
    IncomingCall& call = park(from);
    call.travels = true;
    call.travel.intake_node = intake.node;
    call.travel.intake_call = intake.call;
    return call;
  }
  void refuse_last(NodeId referral = {}) {
    search_.refused(asked_.back().id, {ErrorCode::unknown_code, "it is gone"}, referral);
  }
  [[nodiscard]] std::vector<std::uint64_t> nodes_asked() const {
    std::vector<std::uint64_t> nodes;
    for (const Asked& one : asked_) nodes.push_back(one.node.value);
    return nodes;
  }

  LinkState* link_to(NodeId node) override {
    dialled_.push_back(node);
    return unlinked_ ? nullptr : &neighbour(node.value).link;
  }
  LinkState* origin_link(std::uint64_t intake_call) override {
    return intake_call == kOwnIntake ? &neighbour(99).link : nullptr;
  }
  void send_question(LinkState& link, std::uint64_t id, const Question& question) override {
    EXPECT_EQ(question.source.link, &link);
    asked_.push_back({link.peer->id, id, question.source.intake_call});
  }
  void refuse_relayed(const Question&, const Error& why, NodeId referral) override {
    refused_relays_.emplace_back(why.message, referral);
  }
  void eased(LinkState&) override { ++eased_; }
  void end_parked(IncomingCall& call, Ending ending, const Error& why) override {
    ended_.push_back({&call, ending, why});
    search_.remove(call);
  }

  static constexpr std::uint64_t kOwnIntake = 555;
  const ContentId bundle_ = ContentId::of(bytes_of("the code"));
  fabric::sim::World world_{1, {}};
  fabric::sim::ProcessId process_ = world_.add_process();
  std::deque<Neighbour> neighbours_;
  std::deque<IncomingCall> calls_;
  bool unlinked_ = false;
  std::vector<NodeId> dialled_;
  std::vector<Asked> asked_;
  std::vector<Ended> ended_;
  std::vector<std::pair<std::string, NodeId>> refused_relays_;
  std::size_t eased_ = 0;
  CodeSearch search_{world_.scheduler(process_), *this, kSelf};
};

TEST_F(SearchForCode, AsksCallersThenReferralsThenIntakesAndNobodyTwice) {
  park(10);
  park(10);
  park_travelling(20, {30, 7});
  search_.want(bundle_);
  search_.want(bundle_);
  EXPECT_EQ(nodes_asked(), (std::vector<std::uint64_t>{10})) << "one question at a time";
  refuse_last(NodeId{40});
  refuse_last(NodeId{10});
  refuse_last(kSelf);
  refuse_last();
  EXPECT_EQ(nodes_asked(), (std::vector<std::uint64_t>{10, 20, 40, 30}));
  EXPECT_EQ(asked_.back().intake_call, 7U);
  ASSERT_EQ(ended_.size(), 3U);
  for (const Ended& one : ended_) {
    EXPECT_EQ(one.ending, Ending::rejected);
    EXPECT_EQ(one.why.code, ErrorCode::unknown_code);
    EXPECT_NE(one.why.message.find("none of the 4 that were asked"), std::string::npos)
        << one.why.message;
  }
  EXPECT_EQ(eased_, 4U);
  for (const Neighbour& one : neighbours_) EXPECT_EQ(one.link.asking, 0U);
}

TEST_F(SearchForCode, AnIntakeIsAskedAsSuchWhenItBroughtTheCall) {
  park_travelling(30, {30, 7});
  search_.want(bundle_);
  EXPECT_EQ(asked_.back().intake_call, 7U);
  refuse_last();
  EXPECT_EQ(asked_.size(), 1U);
  EXPECT_EQ(ended_.size(), 1U);
}

TEST_F(SearchForCode, ACallThatCameBackToItsIntakeIsAskedForAtItsOrigin) {
  park_travelling(20, {kSelf.value, kOwnIntake});
  search_.want(bundle_);
  refuse_last();
  EXPECT_EQ(nodes_asked(), (std::vector<std::uint64_t>{20, 99}));
}

TEST_F(SearchForCode, ReferralsAreFollowedUpToALimit) {
  park(10);
  search_.want(bundle_);
  std::size_t followed = 0;
  while (ended_.empty()) {
    const NodeId next{1000 + asked_.size()};
    followed += search_.refused(asked_.back().id, {ErrorCode::unknown_code, "no"}, next) ? 1U : 0U;
    ASSERT_LT(asked_.size(), 100U);
  }
  EXPECT_EQ(followed, CodeSearch::kMaxReferrals);
  EXPECT_EQ(asked_.size(), CodeSearch::kMaxReferrals + 1);
}

TEST_F(SearchForCode, AsManyAreAskedAsMayBe) {
  for (std::uint64_t from = 0; from < CodeSearch::kMaxAsked + 5; ++from) park(100 + from);
  search_.want(bundle_);
  while (ended_.empty()) refuse_last();
  EXPECT_EQ(asked_.size(), CodeSearch::kMaxAsked);
  EXPECT_EQ(ended_.size(), CodeSearch::kMaxAsked + 5);
}

TEST_F(SearchForCode, ABundleWithoutASliceForThisTargetIsNotAskedForElsewhere) {
  park(10);
  park(20);
  search_.want(bundle_);
  search_.refused(asked_.back().id, {ErrorCode::no_slice, "none for this machine"}, {});
  EXPECT_EQ(asked_.size(), 1U);
  ASSERT_EQ(ended_.size(), 2U);
  EXPECT_EQ(ended_.front().why.code, ErrorCode::no_slice);
}

TEST_F(SearchForCode, WhenCodeIsUnsoundTheNextIsAsked) {
  park(10);
  park(20);
  search_.want(bundle_);
  const std::uint64_t first = asked_.back().id;
  EXPECT_EQ(search_.find(first, neighbour(20).link), nullptr) << "another link";
  ASSERT_NE(search_.find(first, neighbour(10).link), nullptr);
  EXPECT_EQ(search_.answered(first).bundle, bundle_);
  search_.want(bundle_);
  EXPECT_EQ(asked_.size(), 1U) << "what came is being checked";
  search_.unsound(first, bundle_, {ErrorCode::corrupt_code, "a bit is wrong"});
  EXPECT_EQ(nodes_asked(), (std::vector<std::uint64_t>{10, 20}));
  search_.answered(asked_.back().id);
  search_.arrived(bundle_);
  EXPECT_EQ(search_.take(bundle_), (std::vector{&calls_[0], &calls_[1]}));
  EXPECT_TRUE(search_.take(bundle_).empty());
  EXPECT_TRUE(ended_.empty());
}

TEST_F(SearchForCode, WhoIsSlowIsPassedAndMayStillAnswer) {
  park(10);
  park(20);
  search_.want(bundle_);
  world_.run_for(milliseconds(1900));
  EXPECT_EQ(asked_.size(), 1U);
  world_.run_for(milliseconds(1200));
  EXPECT_EQ(nodes_asked(), (std::vector<std::uint64_t>{10, 20}));
  ASSERT_NE(search_.find(asked_[0].id, neighbour(10).link), nullptr);
  search_.answered(asked_[0].id);
  search_.arrived(bundle_);
  refuse_last();
  EXPECT_TRUE(ended_.empty()) << "the refusal comes too late to matter";
  EXPECT_EQ(search_.take(bundle_).size(), 2U);
}

TEST_F(SearchForCode, ASlowOneIsWaitedForWhenThereIsNobodyElse) {
  park(10);
  search_.want(bundle_);
  world_.run_for(seconds(59));
  EXPECT_TRUE(ended_.empty());
  world_.run_for(seconds(3));
  ASSERT_EQ(ended_.size(), 1U);
  EXPECT_EQ(ended_.front().why.message, "no answer came to the question for the code");
  EXPECT_EQ(neighbour(10).link.asking, 0U);
}

TEST_F(SearchForCode, ACallEndsAtItsDeadlineWhileOthersGoOnWaiting) {
  IncomingCall& brief = park(10, seconds(3));
  park(10);
  search_.want(bundle_);
  world_.run_for(seconds(5));
  ASSERT_EQ(ended_.size(), 1U);
  EXPECT_EQ(ended_.front().call, &brief);
  EXPECT_EQ(ended_.front().ending, Ending::deadline);
  EXPECT_EQ(search_.take(bundle_).size(), 1U);
}

TEST_F(SearchForCode, AQuestionWaitsUntilThereIsALink) {
  park(10);
  search_.want(bundle_);
  unlinked_ = true;
  refuse_last(NodeId{40});
  EXPECT_EQ(dialled_, (std::vector{NodeId{40}}));
  EXPECT_EQ(asked_.size(), 1U);
  search_.link_up(NodeId{50}, neighbour(50).link);
  EXPECT_EQ(asked_.size(), 1U) << "another node";
  search_.link_up(NodeId{40}, neighbour(40).link);
  EXPECT_EQ(nodes_asked(), (std::vector<std::uint64_t>{10, 40}));
  search_.link_up(NodeId{40}, neighbour(40).link);
  EXPECT_EQ(asked_.size(), 2U) << "once";
}

TEST_F(SearchForCode, WhoCannotBeReachedOrGoesAwayIsPassed) {
  park(10);
  park(20);
  search_.want(bundle_);
  unlinked_ = true;
  refuse_last(NodeId{40});
  search_.link_down(neighbour(20).link, {ErrorCode::node_lost, "killed"});
  EXPECT_EQ(neighbour(20).link.asking, 0U);
  ASSERT_EQ(dialled_, (std::vector{NodeId{40}}));
  search_.unreachable(neighbour(40).peer, {ErrorCode::unreachable, "no route"});
  ASSERT_EQ(ended_.size(), 2U);
  EXPECT_NE(ended_.front().why.message.find("cannot reach node"), std::string::npos)
      << ended_.front().why.message;
}

TEST_F(SearchForCode, QuestionsForOthersAreLimitedAndTheirEndIsTold) {
  Neighbour& client = neighbour(10);
  const Question::Relay relay{nullptr, LinkId{3}, 4, {}};
  for (std::size_t i = 0; i < CodeSearch::kMaxRelays; ++i) {
    ASSERT_TRUE(search_.ask_for_other(bundle_, client.link, relay));
  }
  EXPECT_FALSE(search_.ask_for_other(bundle_, client.link, relay));
  EXPECT_FALSE(search_.refused(asked_.back().id, {ErrorCode::unknown_code, "no"}, NodeId{7}));
  ASSERT_EQ(refused_relays_.size(), 1U);
  EXPECT_EQ(refused_relays_.front().second, NodeId{7});
  EXPECT_TRUE(search_.ask_for_other(bundle_, client.link, relay));
  search_.link_down(client.link, {ErrorCode::node_lost, "killed"});
  EXPECT_EQ(refused_relays_.size(), CodeSearch::kMaxRelays + 1);
  EXPECT_EQ(client.link.asking, 0U);
}

TEST_F(SearchForCode, OffersAreIgnoredWhileTooManyQuestionsAreOpen) {
  for (std::size_t i = 0; i < CodeSearch::kMaxQuestions + 5; ++i) {
    search_.ask_for_offer(bundle_, neighbour(10).link);
  }
  EXPECT_EQ(asked_.size(), CodeSearch::kMaxQuestions);
  park(20);
  search_.want(bundle_);
  EXPECT_EQ(asked_.size(), CodeSearch::kMaxQuestions + 1) << "calls ask nevertheless";
}

}  // namespace
}  // namespace godwit::call
