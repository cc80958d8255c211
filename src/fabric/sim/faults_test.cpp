// What one link does, fault by fault.
#include <gtest/gtest.h>

#include "base/seeds_for_test.hpp"
#include "fabric/sim/recorder.hpp"

namespace godwit::fabric::sim {
namespace {

using namespace std::chrono_literals;

class Pair {
 public:
  explicit Pair(Options options = {}, std::uint64_t seed = 1) : world(seed, std::move(options)) {
    a = world.add_process(boot());
    b = world.add_process(boot());
  }
  World::Boot boot() {
    return [this](World& w, ProcessId self) {
      auto recorder = std::make_shared<Recorder>(w, self, ledger);
      recorders[self] = recorder.get();
      return recorder;
    };
  }
  Recorder& of(ProcessId process) { return *recorders.at(process); }
  LinkId link_up() {
    const LinkId link = of(a).connect(world, b);
    EXPECT_TRUE(world.run_until([&] { return of(a).links[link].fate == Recorder::Fate::up; }, 1s));
    return link;
  }
  LinkId b_side() { return of(b).live_links().back(); }
  bool both_down(LinkId a_link, LinkId b_link) {
    return of(a).links[a_link].fate == Recorder::Fate::down &&
           of(b).links[b_link].fate == Recorder::Fate::down;
  }

  Ledger ledger;
  std::map<ProcessId, Recorder*> recorders;
  World world;
  ProcessId a;
  ProcessId b;
};

TEST(SimLink, BothSidesLearnWhoThePeerIs) {
  Pair pair;
  const LinkId link = pair.link_up();
  EXPECT_EQ(pair.of(pair.a).links[link].peer, pair.world.node_id(pair.b));
  EXPECT_EQ(pair.of(pair.b).links[pair.b_side()].peer, pair.world.node_id(pair.a));
  EXPECT_EQ(pair.of(pair.b).links[pair.b_side()].peer_epoch.value, 1U);
  EXPECT_EQ(pair.world.live_links(), 1U);
}

TEST(SimLink, NoMessageComesBeforeOnUpOfItsSide) {
  for (const std::uint64_t seed : Seeds(0, 199)) {
    Pair pair({}, seed);
    // The accepting side answers the moment it is up; the recorder checks the order at the other.
    pair.of(pair.b).when_up = [&](LinkId link) { (void)pair.of(pair.b).send(link, 8); };
    const LinkId link = pair.of(pair.a).connect(pair.world, pair.b);
    pair.world.run_for(10ms);
    ASSERT_EQ(pair.of(pair.a).links[link].received, 1U);
  }
}

TEST(SimLink, ConnectingToNobodyFailsOnceAndSaysUnreachable) {
  Pair pair;
  pair.world.crash(pair.b);
  const LinkId link = pair.of(pair.a).connect(pair.world, pair.b);
  pair.world.run_for(5s);
  EXPECT_EQ(pair.of(pair.a).links[link].fate, Recorder::Fate::down);
  EXPECT_EQ(pair.of(pair.a).links[link].why, ErrorCode::unreachable);
  EXPECT_FALSE(pair.of(pair.a).transport->connect(
      {.scheme = Address::Scheme::sim, .host = {}, .index = 99}));
  EXPECT_FALSE(
      pair.of(pair.a).transport->connect({.scheme = Address::Scheme::tcp, .host = {}, .port = 1}));
  EXPECT_FALSE(pair.of(pair.a).transport->listen(pair.world.address(pair.a))) << "listens already";
}

TEST(SimLink, CloseDeliversWhatWasSentInOrderFirst) {
  for (const std::uint64_t seed : Seeds(0, 99)) {
    Pair pair({.reorder_chance = 0}, seed);
    const LinkId link = pair.link_up();
    const LinkId other = pair.b_side();
    for (int i = 0; i < 20; ++i) (void)pair.of(pair.a).send(link, 3000);
    pair.of(pair.a).transport->close(link);
    EXPECT_EQ(pair.of(pair.a).send(link, 8), Sent::down);
    pair.world.run_for(100ms);
    ASSERT_TRUE(pair.both_down(link, other));
    EXPECT_EQ(pair.of(pair.a).links[link].why, ErrorCode::none);
    ASSERT_EQ(pair.of(pair.b).links[other].received, 20U);
    EXPECT_EQ(pair.world.live_links(), 0U);
  }
}

TEST(SimLink, ALinkClosedBeforeItIsUpGoesDownWithoutComingUp) {
  for (const std::uint64_t seed : Seeds(0, 49)) {
    Pair pair({}, seed);
    const LinkId link = pair.of(pair.a).connect(pair.world, pair.b);
    pair.world.run_for(Duration(static_cast<std::int64_t>(pair.world.random().below(30'000))));
    pair.of(pair.a).transport->close(link);
    pair.world.run_for(5s);
    EXPECT_EQ(pair.of(pair.a).links[link].fate, Recorder::Fate::down);
    EXPECT_TRUE(pair.of(pair.b).live_links().empty());
    EXPECT_EQ(pair.world.live_links(), 0U);
  }
}

TEST(SimLink, ABreakIsToldToBothSidesAtTheirOwnTime) {
  Pair pair({.down_delay = {1us, 1s}});
  const LinkId link = pair.link_up();
  const LinkId other = pair.b_side();
  EXPECT_EQ(pair.world.break_links(pair.b, pair.a), 1U);
  int one_sided_steps = 0;
  EXPECT_TRUE(pair.world.run_until(
      [&] {
        const bool a_down = pair.of(pair.a).links[link].fate == Recorder::Fate::down;
        const bool b_down = pair.of(pair.b).links[other].fate == Recorder::Fate::down;
        one_sided_steps += a_down != b_down ? 1 : 0;
        return a_down && b_down;
      },
      3s));
  EXPECT_GT(one_sided_steps, 0);
  EXPECT_EQ(pair.of(pair.a).links[link].why, ErrorCode::link_lost);
}

TEST(SimLink, APartitionStallsMessagesAndAShortOneLosesNothing) {
  Pair pair;
  const LinkId link = pair.link_up();
  pair.world.partition(std::array{pair.a});
  (void)pair.of(pair.a).send(link, 100);
  pair.world.run_for(1s);
  EXPECT_EQ(pair.of(pair.b).links[pair.b_side()].received, 0U);
  pair.world.heal();
  pair.world.run_for(5s);
  EXPECT_EQ(pair.of(pair.b).links[pair.b_side()].received, 1U);
  EXPECT_EQ(pair.of(pair.a).live_links().size(), 1U);
}

TEST(SimLink, ALongPartitionKillsTheLinkAndANewOneWorksAfterIt) {
  Pair pair;
  const LinkId link = pair.link_up();
  const LinkId other = pair.b_side();
  pair.world.partition(std::array{pair.a});
  (void)pair.of(pair.a).send(link, 100);
  pair.world.run_for(3s);
  EXPECT_TRUE(pair.both_down(link, other));
  const LinkId hopeless = pair.of(pair.a).connect(pair.world, pair.b);
  pair.world.run_for(2s);
  EXPECT_EQ(pair.of(pair.a).links[hopeless].why, ErrorCode::unreachable);
  pair.world.heal();
  const LinkId healed = pair.link_up();
  EXPECT_EQ(pair.of(pair.a).send(healed, 10), Sent::now);
  pair.world.run_for(1s);
  EXPECT_EQ(pair.of(pair.b).links[pair.b_side()].received, 1U);
  EXPECT_EQ(pair.world.counters().messages_lost, 1U);
}

TEST(SimLink, CutsAddUp) {
  Pair pair;
  const ProcessId c = pair.world.add_process(pair.boot());
  pair.world.partition(std::array{pair.a, pair.b});
  pair.world.partition(std::array{pair.b, c});  // a | b | c
  for (const auto& [from, to] : {std::pair(pair.a, pair.b), {pair.b, c}, {pair.a, c}}) {
    const LinkId link = pair.of(from).connect(pair.world, to);
    pair.world.run_for(2s);
    EXPECT_EQ(pair.of(from).links[link].fate, Recorder::Fate::down);
  }
}

TEST(SimLink, TheCrashOfThePeerIsNoticedAndItsNewStartHasANewEpoch) {
  Pair pair;
  const LinkId link = pair.link_up();
  pair.world.crash(pair.b);
  pair.world.run_for(1s);
  EXPECT_EQ(pair.of(pair.a).links[link].fate, Recorder::Fate::down);
  pair.world.restart(pair.b);
  const LinkId again = pair.link_up();
  EXPECT_EQ(pair.of(pair.a).links[again].peer, pair.world.node_id(pair.b));
  EXPECT_EQ(pair.of(pair.a).links[again].peer_epoch.value, 2U);
}

TEST(SimLink, PartsBorrowedByLaterMustNotBeTouched) {
  std::string complaint;
  Pair pair(
      {.later_chance = 1, .on_violation = [&](std::string_view message) { complaint = message; }});
  const LinkId link = pair.link_up();
  ASSERT_EQ(pair.of(pair.a).send(link, 5000), Sent::later);
  pair.of(pair.a).borrowed[link].begin()->second[4999] ^= std::byte{1};
  pair.of(pair.b).when_message = {};
  // The corrupted body does arrive; only the complaint matters here.
  pair.ledger.messages.begin()->second.size = 5000;
  EXPECT_TRUE(pair.world.run_until([&] { return !complaint.empty(); }, 1s));
  EXPECT_NE(complaint.find("borrows"), std::string::npos);
  pair.world.crash(pair.b);
}

TEST(SimLink, PartsAreTheSendersAgainOnceItsSideIsDown) {
  int lost = 0;
  for (const std::uint64_t seed : Seeds(0, 99)) {
    Pair pair({.down_delay = {1us, 50ms}, .later_chance = 1, .gather_delay = {1us, 50ms}}, seed);
    const LinkId link = pair.link_up();
    std::vector<std::byte> body = Recorder::body_of(1, 5000);
    const Bytes part = body;
    pair.ledger.messages[1].size = body.size();
    pair.of(pair.a).borrowed[link][1] = {};
    ASSERT_EQ(pair.of(pair.a).transport->send(link, {.id = 1}, std::span(&part, 1), 1),
              Sent::later);
    pair.world.break_links(pair.a, pair.b);
    pair.world.run_until([&] { return pair.of(pair.a).live_links().empty(); }, 1s);
    std::fill(body.begin(), body.end(), std::byte{0});  // reading it now would be a violation
    pair.world.run_for(1s);
    lost += 1 - pair.ledger.messages[1].delivered;
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, 100);
}

}  // namespace
}  // namespace godwit::fabric::sim
