// The transport's contract, kept by many processes under random faults; and the simulator's own
// promises about seeds and speed.
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>

#include "base/seeds_for_test.hpp"
#include "fabric/sim/chaos.hpp"
#include "fabric/sim/recorder.hpp"

namespace godwit::fabric::sim {
namespace {

using namespace std::chrono_literals;

// Processes that keep sending to each other, over new links when the old ones are gone.
class Traffic {
 public:
  Traffic(std::uint64_t seed, std::size_t process_count, Options options)
      : world(seed, std::move(options)) {
    for (std::size_t i = 0; i < process_count; ++i) {
      processes.push_back(world.add_process([this](World& w, ProcessId self) {
        auto recorder = std::make_shared<Recorder>(w, self, ledger);
        recorders[self] = recorder.get();
        return recorder;
      }));
    }
    drive();
  }

  void drive() {
    world.after(100us, [this] {
      if (stopped) return;
      const ProcessId from = world.random().pick(std::span(processes));
      if (world.is_up(from)) act(*recorders[from]);
      drive();
    });
  }
  void act(Recorder& recorder) {
    const std::vector<LinkId>& live = recorder.live_links();
    if (live.empty() || world.random().chance(0.05)) {
      recorder.connect(world, world.random().pick(std::span(processes)));
      return;
    }
    const LinkId link = world.random().pick(std::span(live));
    if (world.random().chance(0.01)) return recorder.transport->close(link);
    static constexpr std::array<std::size_t, 5> kSizes{0, 8, 1024, 1025, 4000};
    (void)recorder.send(link, kSizes.at(world.random().below(kSizes.size())));
  }

  // Conservation: a message that did not arrive was sent over a link that died.
  void check_every_fate() {
    std::size_t missing = 0;
    for (const auto& [id, entry] : ledger.messages) {
      if (entry.delivered == 1) continue;
      ++missing;
      if (world.epoch(entry.sender) != entry.sender_epoch) continue;  // died with its process
      EXPECT_EQ(recorders[entry.sender]->links[entry.link].fate, Recorder::Fate::down)
          << "message " << id << " vanished on a live link";
    }
    const Counters counters = world.counters();
    EXPECT_EQ(counters.messages_sent, ledger.messages.size());
    EXPECT_EQ(counters.messages_lost, missing);
    EXPECT_EQ(counters.messages_delivered + missing, counters.messages_sent);
    for (const auto& [process, recorder] : recorders) {
      for (const auto& [link, tags] : recorder->borrowed) {
        EXPECT_TRUE(tags.empty()) << "parts never given back";
      }
    }
  }

  Ledger ledger;
  std::map<ProcessId, Recorder*> recorders;
  World world;
  std::vector<ProcessId> processes;
  bool stopped = false;
};

Options rough() {
  return {.reorder_chance = 0.3,
          .link_break_chance = 0.005,
          .connect_failure_chance = 0.1,
          .discard_chance = 0.02};
}

std::uint64_t run_traffic(std::uint64_t seed, Counters* counters = nullptr) {
  Traffic traffic(seed, 8, rough());
  Chaos chaos(traffic.world, traffic.processes);
  traffic.world.run_for(1s);
  traffic.stopped = true;
  chaos.stop();
  traffic.world.run_for(10s);
  traffic.check_every_fate();
  if (counters != nullptr) *counters = traffic.world.counters();
  return traffic.world.trace_hash();
}

void check_seeds(std::uint64_t first, std::uint64_t last) {
  for (const std::uint64_t seed : Seeds(first, last)) {
    Counters counters;
    run_traffic(seed, &counters);
    EXPECT_GT(counters.messages_delivered, 1000U);
    EXPECT_GT(counters.messages_lost, 0U);
    EXPECT_GT(counters.links_broken, 0U);
  }
}

TEST(SimTraffic, EveryMessageArrivesOnceIntactOrItsLinkDied) {
  check_seeds(1, 15);
}
TEST(SimTrafficLong, EveryMessageArrivesOnceIntactOrItsLinkDied) {
  check_seeds(100, 600);
}

TEST(SimTraffic, WithoutFaultsNothingIsLost) {
  Traffic traffic(3, 8, {});
  traffic.world.run_for(1s);
  traffic.stopped = true;
  traffic.world.run_for(1s);
  traffic.check_every_fate();
  // What is lost here was overtaken by the close() of its own link.
  EXPECT_LT(traffic.world.counters().messages_lost, traffic.ledger.messages.size() / 100);
  EXPECT_EQ(traffic.world.counters().links_broken, 0U);
}

TEST(SimTraffic, TheSameSeedGivesTheSameTraceAndAnotherSeedAnother) {
  Counters first;
  Counters second;
  const std::uint64_t trace = run_traffic(77, &first);
  EXPECT_EQ(trace, run_traffic(77, &second));
  EXPECT_EQ(first.events, second.events);
  EXPECT_EQ(first.bytes_sent, second.bytes_sent);
  EXPECT_NE(trace, run_traffic(78));
}

// Answers every message at once.
class Echo final : public TransportEvents {
 public:
  Echo(World& world, ProcessId self) : transport(world.transport(self, *this)) {
    EXPECT_TRUE(transport->listen(world.address(self)));
  }
  void on_up(LinkId link, const Hello& /*peer*/) override { send(link); }
  void on_down(LinkId /*link*/, const Error& /*why*/) override {}
  void on_message(LinkId link, Message& /*message*/) override { send(link); }
  void on_sent(LinkId /*link*/, std::uint64_t /*tag*/) override {}
  void send(LinkId link) {
    const std::uint64_t payload = 7;
    const Bytes part = bytes_of_value(payload);
    (void)transport->send(link, {.kind = wire::Kind::call}, std::span(&part, 1), 0);
  }
  std::unique_ptr<Transport> transport;
};

TEST(SimTraffic, AThousandProcessesKeepThousandsOfMessagesInFlight) {
  World world(5);
  std::vector<ProcessId> processes;
  std::vector<Echo*> echoes;
  for (int i = 0; i < 1000; ++i) {
    processes.push_back(world.add_process([&](World& w, ProcessId self) {
      auto echo = std::make_shared<Echo>(w, self);
      echoes.push_back(echo.get());
      return echo;
    }));
  }
  for (std::size_t i = 0; i < echoes.size(); ++i) {
    const ProcessId next = processes[(i + 1) % processes.size()];
    ASSERT_TRUE(echoes[i]->transport->connect(world.address(next)));
  }
  const std::clock_t start = std::clock();
  world.run_for(5ms);
  const double cpu_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const Counters counters = world.counters();
  EXPECT_EQ(counters.links_made, 1000U);
  EXPECT_GT(counters.messages_delivered, 200'000U);
  EXPECT_EQ(counters.messages_lost, 0U);
  std::printf("%.2f million events per CPU second\n",
              static_cast<double>(counters.events) / cpu_s / 1e6);
}

}  // namespace
}  // namespace godwit::fabric::sim
