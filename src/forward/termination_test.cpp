#include "forward/termination.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.hpp"
#include "base/sanitizers.hpp"

namespace godwit::forward {
namespace {

// Ranks with their detectors, and a network in which every message, of items and of waves, takes
// its own time. What is known here of all ranks is what no rank knows.
class Network {
 public:
  Network(Rank ranks, std::uint64_t seed) : random_(seed) {
    ways_.reserve(static_cast<std::size_t>(ranks));
    for (Rank rank = 0; rank < ranks; ++rank) ways_.push_back(SimulatedWay{*this});
    for (Rank rank = 0; rank < ranks; ++rank) {
      ranks_.push_back({Termination(rank, ranks, ways_[static_cast<std::size_t>(rank)]), 0, 0, 0});
    }
  }

  // A rank begins with items of its own making.
  void seed(Rank rank, std::uint32_t items, std::uint32_t steps) {
    for (std::uint32_t i = 0; i < items; ++i) emit(rank, steps);
  }

  // Until everybody knows, or nothing moves any more.
  void run() {
    while (!is_done()) {
      const auto event = events_.begin();
      if (event == events_.end() && !anybody_acts()) return;
      if (event == events_.end()) continue;
      now_ = event->first;
      const Event what = event->second;
      events_.erase(event);
      happen(what);
      (void)anybody_acts();
    }
  }

  [[nodiscard]] bool is_done() const {
    return std::all_of(ranks_.begin(), ranks_.end(),
                       [](const Member& member) { return member.detector.done(); });
  }
  [[nodiscard]] bool ended_early() const { return early_; }
  [[nodiscard]] std::uint64_t processed() const { return processed_; }
  [[nodiscard]] std::uint64_t waves() const { return ranks_.front().detector.waves(); }

 private:
  struct SimulatedWay final : Termination::Way {
    explicit SimulatedWay(Network& owner) : network(owner) {}
    void send(Rank to, const TerminationMessage& message) override {
      if (message.kind == TerminationMessage::Kind::done && network.unprocessed_ > 0) {
        network.early_ = true;
      }
      network.events_.emplace(network.later(), Event{to, message, 0});
    }
    Network& network;
  };
  struct Member {
    Termination detector;
    std::uint64_t emitted = 0;
    std::uint64_t processed = 0;
    std::uint64_t busy_until = 0;
  };
  struct Event {
    Rank to = 0;
    TerminationMessage message = {};
    std::uint32_t steps = 0;  // of an item; 0: it is a message
  };

  [[nodiscard]] std::uint64_t later() { return now_ + 1 + random_.next() % delay_; }

  void emit(Rank from, std::uint32_t steps) {
    ++ranks_[static_cast<std::size_t>(from)].emitted;
    ++unprocessed_;
    const auto to = static_cast<Rank>(random_.next() % ranks_.size());
    events_.emplace(later(), Event{to, {}, steps});
    // Now and then the network is slow for a while.
    if (random_.next() % 16 == 0) delay_ = 1 + random_.next() % 1000;
  }

  void happen(const Event& event) {
    Member& member = ranks_[static_cast<std::size_t>(event.to)];
    if (event.steps == 0) {
      member.detector.receive(event.message);
      return;
    }
    ++member.processed;
    ++processed_;
    --unprocessed_;
    const std::uint64_t followers = event.steps > 1 ? random_.next() % 3 : 0;
    for (std::uint64_t i = 0; i < followers; ++i) emit(event.to, event.steps - 1);
  }

  // Every rank that is idle says so; between events all are, but some look less often.
  bool anybody_acts() {
    const std::size_t before = events_.size();
    for (Member& member : ranks_) {
      if (random_.next() % 4 == 0 && before > 0) continue;
      const bool was_done = member.detector.done();
      member.detector.idle(member.emitted, member.processed);
      if (!was_done && member.detector.done() && unprocessed_ > 0) early_ = true;
    }
    return events_.size() != before || is_done();
  }

  Random random_;
  std::vector<SimulatedWay> ways_;
  std::vector<Member> ranks_;
  std::multimap<std::uint64_t, Event> events_;  // by time
  std::uint64_t now_ = 0;
  std::uint64_t delay_ = 50;
  std::uint64_t processed_ = 0;
  std::uint64_t unprocessed_ = 0;
  bool early_ = false;
};

TEST(Termination, IsNeverEarlyAndNeverMissingUnderAnyDelays) {
  constexpr std::uint64_t kRuns = kSanitized ? 2'000 : 20'000;
  std::uint64_t items = 0;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto ranks = static_cast<Rank>(1 + random.next() % 20);
    Network network(ranks, seed);
    for (Rank rank = 0; rank < ranks; ++rank) {
      if (random.next() % 2 == 0) {
        network.seed(rank, static_cast<std::uint32_t>(random.next() % 4),
                     static_cast<std::uint32_t>(1 + random.next() % 5));
      }
    }
    network.run();
    ASSERT_FALSE(network.ended_early());
    ASSERT_TRUE(network.is_done());
    items += network.processed();
  }
  EXPECT_GT(items, kRuns);
}

TEST(Termination, EndsAtOnceWhenThereIsNothing) {
  for (const Rank ranks : {1, 2, 3, 9, 100, 1000}) {
    Network network(ranks, 7);
    network.run();
    EXPECT_TRUE(network.is_done()) << ranks;
    EXPECT_LE(network.waves(), 2U) << ranks;
  }
}

// Counts that agree by chance within one wave prove nothing: an item can go behind the wave's back.
TEST(Termination, DoesNotTrustOneWave) {
  struct Recorder final : Termination::Way {
    void send(Rank to, const TerminationMessage& message) override {
      sent.emplace_back(to, message);
    }
    std::vector<std::pair<Rank, TerminationMessage>> sent;
  } way;
  Termination root(0, 2, way);
  root.idle(1, 1);
  ASSERT_EQ(way.sent.size(), 1U);
  root.receive({.kind = TerminationMessage::Kind::answer, .wave = 1, .emitted = 0, .processed = 0});
  root.idle(1, 1);
  EXPECT_FALSE(root.done());
  root.receive({.kind = TerminationMessage::Kind::answer, .wave = 2, .emitted = 1, .processed = 1});
  root.idle(1, 1);
  EXPECT_FALSE(root.done());  // emitted 2 in this wave, processed 1 in the one before
  root.receive({.kind = TerminationMessage::Kind::answer, .wave = 3, .emitted = 1, .processed = 1});
  root.idle(1, 1);
  EXPECT_TRUE(root.done());
}

}  // namespace
}  // namespace godwit::forward
