// Regions whose nodes die: what was there is reported as lost, and the rest goes on.
#include <algorithm>
#include <random>
#include <thread>

#include "node/region_for_test.hpp"

namespace godwit::node {
namespace {

using Words = Region<std::uint64_t>;
using std::chrono::seconds;

Words make(Fleet& fleet, const RegionOptions& options) {
  auto region = Words::create(fleet, "words", options);
  if (!region) ADD_FAILURE() << region.error().message;
  return *std::move(region);
}

std::uint64_t epoch_of(const Fleet& fleet, const NodeHandle& node) {
  for (const NodeDescription& known : fleet.describe()) {
    if (known.id == node.id() && known.state == NodeState::up) return known.epoch;
  }
  return 0;
}

// Starts a node again, and waits until this client knows of its new life and can call it there.
void restart(Fleet& fleet, const NodeHandle& node) {
  const std::uint64_t before = epoch_of(fleet, node);
  ASSERT_TRUE(fleet.restart(node));
  ASSERT_TRUE(eventually([&] { return epoch_of(fleet, node) > before; }));
  ASSERT_TRUE(eventually([&] { return fleet.status(node).has_value(); }));
}

template <class R>
void expect_lost(const Outcome<R>& outcome, std::string_view elements) {
  if (outcome) {
    ADD_FAILURE() << "something of a dead node was presented as good";
    return;
  }
  EXPECT_EQ(outcome.error().ending, Ending::node_lost) << to_string(outcome.error());
  EXPECT_NE(outcome.error().message.find(elements), std::string::npos) << outcome.error().message;
}

// Kills a node that just served, and looks at once.
void load_after_kill(int rounds) {
  Fleet fleet = local(2);
  for (int round = 0; round < rounds; ++round) {
    const NodeHandle victim = fleet.find("n1").value();
    auto region = Words::create(fleet, "round" + std::to_string(round),
                                {.elements = 4, .nodes = {fleet.find("n0").value(), victim}});
    ASSERT_TRUE(region) << region.error().message;
    ASSERT_TRUE(region->store(3, 7));
    ASSERT_EQ(value_of(region->load(3)), 7U);
    ASSERT_TRUE(region->describe().shards.at(1).mapped);
    ASSERT_TRUE(fleet.kill(victim));
    expect_lost(region->load(3), "element 3 of region 'round");
    expect_lost(region->load(0, 4), "elements 0 to 3 of region 'round");
    expect_lost(ops::chase(*region, 0, 1, ops::Mechanism::direct).get(), "region 'round");
    EXPECT_EQ(value_of(region->load(1)), 0U) << "the other node lives";
    restart(fleet, victim);
    expect_lost(region->load(3), "element 3 of region 'round");
  }
}

TEST(RegionFaults, ADirectLoadFromADeadNodeIsNeverGood) {
  load_after_kill(3);
}

TEST(RegionFaults, ADirectLoadFromADeadNodeIsNeverGoodInAHundredTriesLong) {
  load_after_kill(100);
}

class RegionFaultsOver : public testing::TestWithParam<LocalTransport> {
 protected:
  Fleet fleet_ = local(3, {.transport = GetParam()});
};

TEST_P(RegionFaultsOver, AShardIsLostWithItsNodeAndStaysLostAfterARestart) {
  const Words region = make(fleet_, {.elements = 9});
  const std::vector<std::uint64_t> values{1, 2, 3, 4, 5, 6, 7, 8, 0};
  ASSERT_TRUE(region.store(0, values));
  const NodeHandle victim = fleet_.find("n1").value();
  ASSERT_TRUE(fleet_.kill(victim));
  const auto expect_one_lost = [&](const Words& words) {
    expect_lost(words.load(4), "element 4 of region 'words'");
    expect_lost(words.get(3).get(), "element 3 of region 'words'");
    expect_lost(words.store(4, 1), "element 4 of region 'words'");
    expect_lost(words.fetch_add(5, 1).get(), "element 5 of region 'words'");
    expect_lost(words.get(0, 9).get(), "elements 0 to 8 of region 'words'");
    const std::vector<std::uint64_t> indices{0, 4, 8};
    expect_lost(words.gather(indices).get(), "of region 'words'");
    expect_lost(ops::chase(words, 0, 9).get(), "of region 'words'");
    expect_lost(ops::chase(words, 0, 9, ops::Mechanism::code).get(), "of region 'words'");
    EXPECT_EQ(value_of(words.load(2)), 3U);
    EXPECT_EQ(value_of(words.load(6, 3)), (std::vector<std::uint64_t>{7, 8, 0}));
    EXPECT_EQ(value_of(ops::chase(words, 6, 2, ops::Mechanism::code).get()), 8U);
  };
  expect_one_lost(region);
  expect_one_lost(region.through(Reach::message));
  restart(fleet_, victim);
  EXPECT_TRUE(eventually([&] { return region.describe().shards.at(1).lost; }));
  expect_one_lost(region);
  expect_one_lost(region.through(Reach::message));
}

// What an element may hold: one value, or more once a put has ended without saying how it went.
class Model {
 public:
  explicit Model(std::size_t elements) : possible_(elements, {0}) {}

  void wrote(std::uint64_t index, std::uint64_t value) { possible_[index] = {value}; }
  void may_have_written(std::uint64_t index, std::uint64_t value) {
    possible_[index].push_back(value);
  }
  void saw(std::uint64_t index, std::uint64_t value) {
    EXPECT_EQ(std::ranges::count(possible_[index], value) > 0, true)
        << "element " << index << " holds " << value;
    possible_[index] = {value};
  }

 private:
  std::vector<std::vector<std::uint64_t>> possible_;
};

// One thread's use of elements that no other thread writes to.
class Worker {
 public:
  Worker(Words region, const ShardMap& map, std::vector<std::uint64_t> own)
      : region_(std::move(region)),
        map_(map),
        own_(std::move(own)),
        model_(region_.size()),
        random_(own_.front()) {}

  // Something at random, checked against the model. `victim`: the shard that may be lost, if any.
  void act(std::optional<std::uint32_t> victim) {
    victim_ = victim;
    const Words region = random_() % 2 == 0 ? region_ : region_.through(Reach::message);
    switch (random_() % 6) {
      case 0: return get(region);
      case 1: return put(region);
      case 2: return add(region);
      case 3: return swap(region);
      case 4: return gather(region);
      default: return scatter(region);
    }
  }
  // Everything that should still be there.
  void look_at_all(std::optional<std::uint32_t> victim) {
    victim_ = victim;
    for (const std::uint64_t index : own_) see(index, region_.load(index));
  }
  [[nodiscard]] std::size_t lost() const { return lost_; }

 private:
  std::uint64_t any() { return own_[random_() % own_.size()]; }
  // Each at most once: a list that names an element twice leaves either value.
  std::vector<std::uint64_t> some() {
    std::vector<std::uint64_t> indices = own_;
    std::ranges::shuffle(indices, random_);
    indices.resize(1 + random_() % std::min<std::size_t>(indices.size(), 40));
    return indices;
  }
  void note_failure(const Failure& failure, bool touches_victim) {
    EXPECT_TRUE(touches_victim) << to_string(failure);
    EXPECT_EQ(failure.ending, Ending::node_lost) << to_string(failure);
    ++lost_;
  }
  [[nodiscard]] bool is_victim(std::uint64_t index) const {
    return victim_ && map_.locate(index).shard == *victim_;
  }
  void see(std::uint64_t index, const Outcome<std::uint64_t>& seen) {
    if (seen) {
      model_.saw(index, *seen);
    } else {
      note_failure(seen.error(), is_victim(index));
    }
  }
  void get(const Words& region) {
    const std::uint64_t index = any();
    see(index, region.get(index).get());
  }
  void put(const Words& region) {
    const std::uint64_t index = any();
    const std::uint64_t value = random_();
    const auto done = region.put(index, value).get();
    if (done) return model_.wrote(index, value);
    model_.may_have_written(index, value);
    note_failure(done.error(), is_victim(index));
  }
  void add(const Words& region) {
    const std::uint64_t index = any();
    const auto before = region.fetch_add(index, 3).get();
    see(index, before);
    if (before) model_.wrote(index, *before + 3);
  }
  void swap(const Words& region) {
    const std::uint64_t index = any();
    const auto seen = region.load(index);
    see(index, seen);
    if (!seen) return;
    const auto before = region.compare_swap(index, *seen, *seen ^ 1).get();
    see(index, before);
    if (before) model_.wrote(index, *seen ^ 1);
  }
  void gather(const Words& region) {
    const std::vector<std::uint64_t> indices = some();
    const auto found = region.gather(indices).get();
    if (!found) return note_failure(found.error(), std::ranges::any_of(indices, victim_test()));
    for (std::size_t i = 0; i < indices.size(); ++i) model_.saw(indices[i], found->at(i));
  }
  void scatter(const Words& region) {
    const std::vector<std::uint64_t> indices = some();
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < indices.size(); ++i) values.push_back(random_());
    const auto done = region.scatter(indices, values).get();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (done) {
        model_.wrote(indices[i], values[i]);
      } else {
        model_.may_have_written(indices[i], values[i]);
      }
    }
    if (!done) note_failure(done.error(), std::ranges::any_of(indices, victim_test()));
  }
  [[nodiscard]] std::function<bool(std::uint64_t)> victim_test() const {
    return [this](std::uint64_t index) { return is_victim(index); };
  }

  Words region_;
  ShardMap map_;
  std::vector<std::uint64_t> own_;
  Model model_;
  std::mt19937_64 random_;
  std::optional<std::uint32_t> victim_;
  std::size_t lost_ = 0;
};

TEST_P(RegionFaultsOver, ConcurrentUseAgreesWithAModelWhileANodeIsKilled) {
  constexpr std::uint64_t kElements = 301;
  constexpr std::uint64_t kThreads = 3;
  for (const Sharding sharding : {Sharding::cyclic(5), Sharding::hashed()}) {
    Words region = make(fleet_, {.elements = kElements, .sharding = sharding});
    std::vector<Worker> workers;
    for (std::uint64_t t = 0; t < kThreads; ++t) {
      std::vector<std::uint64_t> own;
      for (std::uint64_t i = t; i < kElements; i += kThreads) own.push_back(i);
      workers.emplace_back(region, sharding.over(kElements, 3), std::move(own));
    }
    for (int i = 0; i < 200; ++i) {
      for (Worker& worker : workers) worker.act({});
    }
    const NodeHandle victim = fleet_.find("n2").value();
    std::vector<std::jthread> threads;
    for (Worker& worker : workers) {
      threads.emplace_back([&worker](const std::stop_token& stop) {
        for (int i = 0; i < 50 || !stop.stop_requested(); ++i) worker.act(2);
        for (int i = 0; i < 50; ++i) worker.act(2);
      });
    }
    ASSERT_TRUE(fleet_.kill(victim));
    threads.clear();
    for (Worker& worker : workers) {
      worker.look_at_all(2);
      EXPECT_GT(worker.lost(), 0U);
    }
    restart(fleet_, victim);
    ASSERT_TRUE(region.drop());
  }
}

INSTANTIATE_TEST_SUITE_P(Over, RegionFaultsOver,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), name_of);

}  // namespace
}  // namespace godwit::node
