// Regions in real node processes, seen by hand-written mobile code and mapped by this process.
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "base/folder_for_test.hpp"
#include "godwit/sharding.hpp"
#include "node/fleet_for_test.hpp"
#include "node/runtime.hpp"
#include "trace/json_value.hpp"
#include "wire/region.hpp"

namespace godwit::node {
namespace {

using std::chrono::seconds;
using wire::RegionDescriptor;
using wire::RegionState;

Bundle code() {
  return kernels(GODWIT_TEST_REGIONS_BUNDLE);
}

template <class Signature>
Function<Signature> function(const char* name) {
  auto found = code().function<Signature>(name);
  if (!found) ADD_FAILURE() << found.error().message;
  return *found;
}

// A list of u64 called `name`, over all nodes of the fleet.
RegionDescriptor list_over(const Fleet& fleet, const std::string& name, std::uint64_t elements,
                           const Sharding& sharding) {
  static std::uint64_t made = 0;
  RegionDescriptor region;
  region.id = (std::uint64_t{1} << 32) + ++made;
  region.element_size = 8;
  region.elements = elements;
  for (const NodeDescription& node : fleet.describe()) {
    region.shards.push_back({NodeId{node.id}, Epoch{node.epoch}});
  }
  region.map = sharding.over(elements, static_cast<std::uint32_t>(region.shards.size())).abi();
  region.name = name;
  region.type = "u64";
  return region;
}

using Apply = void(std::span<const std::byte>);

// What a creator does: every node, then the fleet's directory.
void apply(Fleet& fleet, const RegionDescriptor& region) {
  const std::string bytes = encode(region);
  for (const NodeHandle& node : fleet.nodes()) {
    const auto applied = function<Apply>("apply").on(node)(bytes_of(bytes)).get();
    ASSERT_TRUE(applied) << applied.error().message;
  }
  ASSERT_TRUE(fleet.put_name(region.key(), bytes));
}

RegionDescriptor make_list(Fleet& fleet, const std::string& name, std::uint64_t elements,
                           const Sharding& sharding = Sharding::blocks()) {
  const RegionDescriptor region = list_over(fleet, name, elements, sharding);
  apply(fleet, region);
  for (const NodeHandle& node : fleet.nodes()) {
    static_cast<void>(
        value_of(function<std::uint64_t(std::string_view)>("fill").on(node)(name).get()));
  }
  return region;
}

std::uint64_t followed(std::uint64_t at, std::uint32_t hops, std::uint64_t elements) {
  for (; hops > 0; --hops) at = (at * 5 + 3) % elements;
  return at;
}

using Chase = std::uint64_t(std::uint64_t, std::uint32_t);
using ByName = std::uint64_t(std::string_view);

class FleetRegions : public testing::Test {
 protected:
  static void SetUpTestSuite() { fleet_ = new Fleet(local(3)); }
  static void TearDownTestSuite() {
    delete fleet_;
    fleet_ = nullptr;
  }
  static void drop(RegionDescriptor region) {
    ++region.version;
    region.state = RegionState::dropped;
    apply(*fleet_, region);
  }
  // What the function says of its failure.
  template <class R>
  static std::string failure(Outcome<R> outcome) {
    if (outcome) {
      ADD_FAILURE() << "did not fail";
      return "";
    }
    EXPECT_EQ(outcome.error().ending, Ending::app_error);
    return outcome.error().message;
  }
  static Fleet* fleet_;
};
Fleet* FleetRegions::fleet_ = nullptr;

TEST_F(FleetRegions, ACallChasesAListAcrossItsOwners) {
  for (const Sharding& sharding : {Sharding::blocks(), Sharding::cyclic(7), Sharding::hashed()}) {
    const RegionDescriptor list = make_list(*fleet_, "list", 1009, sharding);
    for (const char* name : {"chase", "chase_inline"}) {
      const auto chase = function<Chase>(name);
      for (const NodeHandle& node : fleet_->nodes()) {
        for (const std::uint32_t hops : {0U, 1U, 2U, 100U}) {
          EXPECT_EQ(value_of(chase.on(node)(17, hops).get()), followed(17, hops, 1009));
        }
      }
    }
    drop(list);
  }
}

TEST_F(FleetRegions, AMissingRegionIsAnAppErrorThatNamesIt) {
  const auto chase = function<Chase>("chase").on(fleet_->node(0));
  EXPECT_NE(failure(chase(0, 1).get()).find("'list'"), std::string::npos);
  const RegionDescriptor list = make_list(*fleet_, "list", 10);
  EXPECT_NE(
      failure(function<double(std::string_view)>("sum_as_double").on(fleet_->node(0))("list").get())
          .find("region 'list' are u64, not f64"),
      std::string::npos);
  EXPECT_NE(failure(chase(10, 1).get()).find("out of range"), std::string::npos);
  drop(list);
  EXPECT_EQ(failure(chase(0, 1).get()), "region 'list' was dropped");
}

TEST_F(FleetRegions, InlineFunctionsMayUpdateButNotShapeRegions) {
  const RegionDescriptor list = make_list(*fleet_, "counters", 30);
  const auto add =
      function<std::uint64_t(std::string_view, std::uint64_t, std::uint64_t)>("add_to");
  EXPECT_EQ(value_of(add.on(fleet_->node(0))("counters", 2, 100).get()), 13U);
  EXPECT_EQ(value_of(add.on(fleet_->node(0))("counters", 2, 100).get()), 113U);
  const std::string bytes = encode(list);
  EXPECT_EQ(value_of(function<std::int32_t(std::span<const std::byte>)>("apply_inline")
                         .on(fleet_->node(0))(bytes_of(bytes))
                         .get()),
            static_cast<std::int32_t>(ErrorCode::would_block));
  drop(list);
}

TEST_F(FleetRegions, MemoryIsGivenBackWhenTheLastCallWithAViewOfADroppedRegionEnds) {
  const auto memory_bytes = [] {
    const auto status = trace::JsonValue::parse(fleet_->status(fleet_->node(1)).value()).value();
    return status["regions"]["memory_bytes"].number();
  };
  const double before = memory_bytes();
  const RegionDescriptor list = make_list(*fleet_, "held", 3000);
  EXPECT_EQ(memory_bytes() - before, 8192);
  const auto node = fleet_->node(1);
  const auto sum = function<ByName>("sum").on(node);
  const std::uint64_t before_it = value_of(sum("held").get());
  auto held = function<ByName>("sum_once_dropped").on(node)("held");
  EXPECT_TRUE(eventually([&] { return value_of(sum("held").get()) == before_it + 1; }));
  drop(list);
  EXPECT_EQ(value_of(held.get()), before_it + 1);
  EXPECT_TRUE(eventually([&] { return memory_bytes() == before; }));
}

TEST_F(FleetRegions, NodesThatMissedTheCreatorLearnFromTheDirectory) {
  const RegionDescriptor list = list_over(*fleet_, "heard", 30, Sharding::blocks());
  ASSERT_TRUE(fleet_->put_name(list.key(), encode(list)));
  const auto fill = function<ByName>("fill");
  for (const NodeHandle& node : fleet_->nodes()) {
    EXPECT_TRUE(eventually([&] { return fill.on(node)("heard").get().has_value(); }));
  }
  drop(list);
}

// --- Faults -------------------------------------------------------------------------------------

TEST(FleetRegionFaults, AShardThatDiedWithItsNodeIsReportedAsThat) {
  Fleet fleet = local(3);
  make_list(fleet, "list", 99);
  const NodeHandle victim = fleet.node(1);
  const auto owners = function<std::vector<std::uint64_t>(std::string_view)>("owners");
  const std::vector<std::uint64_t> all = value_of(owners.on(fleet.node(0))("list").get());
  EXPECT_EQ(all[1], victim.id());
  ASSERT_TRUE(fleet.kill(victim));
  ASSERT_TRUE(fleet.restart(victim));
  // It hears of the region from the others.
  std::string said;
  EXPECT_TRUE(eventually([&] {
    const auto outcome = function<ByName>("sum").on(victim)("list").get();
    said = outcome ? "a sum" : outcome.error().message;
    return said == "shard 1 of region 'list' was lost when node n1 ended";
  })) << said;
  EXPECT_TRUE(eventually([&] {
    const auto now = value_of(owners.on(fleet.node(0))("list").get());
    return now == std::vector<std::uint64_t>{all[0], 0, all[2]};
  }));
  const auto lost = function<Chase>("chase").on(fleet.node(0))(40, 1).get();
  ASSERT_FALSE(lost);
  EXPECT_NE(lost.error().message.find("a shard that was lost"), std::string::npos)
      << lost.error().message;
}

TEST(FleetRegionFaults, ShardsInFilesOutliveTheirNode) {
  const TestFolder folder;
  LocalOptions options;
  options.node_arguments = {"--region-dir=" + folder.path().string()};
  Fleet fleet = local(2, options);
  RegionDescriptor list = list_over(fleet, "kept", 50, Sharding::cyclic());
  list.in_files = true;
  apply(fleet, list);
  const auto sum = function<ByName>("sum");
  for (const NodeHandle& node : fleet.nodes()) {
    EXPECT_EQ(value_of(function<ByName>("fill").on(node)("kept").get()), 25U);
  }
  const NodeHandle victim = fleet.node(1);
  const std::uint64_t right = value_of(sum.on(victim)("kept").get());
  ASSERT_TRUE(fleet.kill(victim));
  ASSERT_TRUE(fleet.restart(victim));
  std::string said;
  EXPECT_TRUE(eventually([&] {
    const auto outcome = sum.on(victim)("kept").get();
    said = outcome ? std::to_string(*outcome) : outcome.error().message;
    return outcome && *outcome == right;
  })) << said;
}

TEST(FleetRegionFaults, OverItsBudgetANodeRefusesAndTheRegionIsNotThere) {
  LocalOptions options;
  options.node_arguments = {"--region-budget-mb=1"};
  Fleet fleet = local(1, options);
  const RegionDescriptor large = list_over(fleet, "large", 200'000, Sharding::blocks());
  const std::string bytes = encode(large);
  const auto refused = function<Apply>("apply").on(fleet.node(0))(bytes_of(bytes)).get();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("'large' wants 1601536 bytes more"), std::string::npos)
      << refused.error().message;
  EXPECT_NE(refused.error().message.find("region_budget_mb"), std::string::npos);
  const auto sum = function<ByName>("sum").on(fleet.node(0))("large").get();
  ASSERT_FALSE(sum);
  EXPECT_NE(sum.error().message.find("no region is called 'large'"), std::string::npos);
}

// --- Mappings -----------------------------------------------------------------------------------

// A process of its own in the fleet of a node, as a client that maps shards is.
class Mapper {
 public:
  explicit Mapper(const std::string& seed) {
    Runtime::Options options;
    options.id = random_node_id();
    options.epoch = Epoch{1};
    options.name = "mapper";
    options.seeds = {seed};
    auto runtime = Runtime::create(std::move(options), log_);
    if (!runtime || !(*runtime)->start() || !(*runtime)->wait_until_joined(seconds(5))) {
      ADD_FAILURE() << "cannot join " << seed;
      return;
    }
    runtime_ = *std::move(runtime);
  }
  Result<std::shared_ptr<const region::MappedShard>> map(const region::ShardKey& key) {
    Result<std::shared_ptr<const region::MappedShard>> mapped;
    fabric::Waiter done;
    runtime_->run_as_owner([&] {
      runtime_->region_service().map(key, seconds(5), [&](auto result) {
        mapped = std::move(result);
        done.complete();
      });
    });
    runtime_->reactor().wait(done, fabric::kNever);
    return mapped;
  }
  Runtime& runtime() { return *runtime_; }

 private:
  trace::Log log_ = trace::Log::silent();
  std::unique_ptr<Runtime> runtime_;
};

std::uint64_t load(const region::MappedShard& shard, std::uint64_t offset) {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(shard.data()) + offset,
                         __ATOMIC_RELAXED);
}

TEST(MappedRegions, AreReadDirectlyUntilTheirNodeDies) {
  Fleet fleet = local(2);
  const RegionDescriptor list = make_list(fleet, "list", 100);
  Mapper mapper(fleet.describe().at(0).addresses.at(0));
  ASSERT_TRUE(eventually([&] { return mapper.runtime().regions().find("list").has_value(); }));
  const NodeHandle home = fleet.node(1);
  const region::ShardKey key{NodeId{home.id()}, list.id, 1};
  const auto mapped = mapper.map(key);
  ASSERT_TRUE(mapped) << mapped.error().message;
  const region::MappedShard& shard = **mapped;
  ASSERT_EQ(shard.elements(), 50U);
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(load(shard, i), ((50 + i) * 5 + 3) % 100);
  EXPECT_TRUE(shard.is_good());
  const auto add =
      function<std::uint64_t(std::string_view, std::uint64_t, std::uint64_t)>("add_to");
  ASSERT_TRUE(add.on(home)("list", 51, 1000).get());
  EXPECT_EQ(load(shard, 1), 1058U);
  ASSERT_TRUE(fleet.kill(home));
  EXPECT_EQ(load(shard, 1), 1058U) << "the memory is still there";
  EXPECT_FALSE(shard.is_good()) << "and it is known to mean nothing";
  EXPECT_FALSE(mapper.map(key));
  ASSERT_TRUE(fleet.restart(home));
  EXPECT_FALSE(shard.is_good());
  ErrorCode code = ErrorCode::none;
  EXPECT_TRUE(eventually([&] {
    const auto again = mapper.map(key);
    code = again ? ErrorCode::none : again.error().code;
    return code == ErrorCode::node_lost;
  })) << to_string(code);
}

TEST(MappedRegions, AreNotGoodOnceTheyAreDropped) {
  Fleet fleet = local(1);
  RegionDescriptor list = make_list(fleet, "list", 100);
  Mapper mapper(fleet.describe().at(0).addresses.at(0));
  const region::ShardKey key{NodeId{fleet.node(0).id()}, list.id, 0};
  const auto mapped = mapper.map(key);
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_TRUE((*mapped)->is_good());
  EXPECT_EQ(mapper.map({key.home, key.region, 1}).error().code, ErrorCode::not_found);
  EXPECT_EQ(mapper.map({key.home, 1, 0}).error().code, ErrorCode::not_found);
  EXPECT_FALSE(mapper.map({NodeId{12345}, key.region, 0}));
  ++list.version;
  list.state = RegionState::dropped;
  apply(fleet, list);
  EXPECT_FALSE((*mapped)->is_good());
  EXPECT_EQ(mapper.map(key).error().code, ErrorCode::not_found);
}

TEST(MappedRegions, OverTcpThereAreNone) {
  LocalOptions options;
  options.transport = LocalTransport::tcp;
  Fleet fleet = local(1, options);
  const RegionDescriptor list = make_list(fleet, "list", 100);
  Mapper mapper(fleet.describe().at(0).addresses.at(0));
  const auto mapped = mapper.map({NodeId{fleet.node(0).id()}, list.id, 0});
  ASSERT_FALSE(mapped);
  EXPECT_EQ(mapped.error().code, ErrorCode::unsupported) << mapped.error().message;
}

}  // namespace
}  // namespace godwit::node
