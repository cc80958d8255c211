// The fast path allocates nothing, at the caller nor at the node: both are in this process here.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/allocation_count.hpp"
#include "code/native/runtime_directory.hpp"
#include "godwit/sharding.hpp"
#include "node/fleet_for_test.hpp"
#include "node/node.hpp"
#include "node/places.hpp"
#include "wire/region.hpp"

namespace godwit::node {
namespace {

class WarmPath : public testing::Test {
 protected:
  void SetUp() override {
    if (!counts_allocations) GTEST_SKIP() << "a sanitizer has replaced operator new";
    directory_.emplace(make_runtime_directory().value());
    Settings settings;
    settings.name = "warm";
    settings.runtime_dir = directory_->path().string();
    settings.listen = {node_address(directory_->path(), "warm")};
    settings.jit = "off";
    auto node = Node::start(settings, log_);
    ASSERT_TRUE(node) << node.error().message;
    node_ = *std::move(node);
    auto fleet = Fleet::join(settings.listen.front());
    ASSERT_TRUE(fleet) << fleet.error().message;
    fleet_.emplace(*std::move(fleet));
  }

  // Allocations in a stretch of calls. Other threads of the process (gossip, timers) may allocate
  // now and then: the quietest stretch is the path itself. On a machine so busy that a thousand
  // calls are never without gossip, a shorter one must do.
  template <class Call>
  static std::uint64_t allocations(const Call& call) {
    std::uint64_t least = UINT64_MAX;
    for (int round = 0; round < 60 && least > 0; ++round) {
      const std::uint64_t calls = round < 4 ? 1000 : 50;
      const std::uint64_t before = allocation_count();
      for (std::uint64_t i = 0; i < calls; ++i) call(i);
      least = std::min(least, allocation_count() - before);
    }
    return least;
  }

  trace::Log log_ = trace::Log::silent();
  std::optional<code::RuntimeDirectory> directory_;
  std::unique_ptr<Node> node_;
  std::optional<Fleet> fleet_;
};

TEST_F(WarmPath, AllocatesNothingOnEitherSide) {
  const auto add = kernels().function<Add>("add").value().on(fleet_->node(0));
  for (std::uint64_t i = 0; i < 2000; ++i) ASSERT_EQ(value_of(add(i, 1).get()), i + 1);
  EXPECT_EQ(allocations([&](std::uint64_t i) { static_cast<void>(add(i, 1).get()); }), 0U);
}

TEST_F(WarmPath, ViewsOfRegionsAllocateNothing) {
  const NodeDescription home = fleet_->describe().at(0);
  wire::RegionDescriptor counters;
  counters.id = 1;
  counters.element_size = 8;
  counters.elements = 10;
  counters.map = Sharding::blocks().over(10, 1).abi();
  counters.name = "counters";
  counters.type = "u64";
  counters.shards = {{NodeId{home.id}, Epoch{home.epoch}}};
  const Bundle code = kernels(GODWIT_TEST_REGIONS_BUNDLE);
  const auto apply = code.function<void(std::span<const std::byte>)>("apply").value();
  const std::string bytes = encode(counters);
  ASSERT_TRUE(apply.on(fleet_->node(0))(bytes_of(bytes)).get());
  const auto add =
      code.function<std::uint64_t(std::string_view, std::uint64_t, std::uint64_t)>("add_to")
          .value()
          .on(fleet_->node(0));
  for (std::uint64_t i = 0; i < 2000; ++i) ASSERT_EQ(value_of(add("counters", 7, 1).get()), i);
  EXPECT_EQ(allocations([&](std::uint64_t) { static_cast<void>(add("counters", 7, 1).get()); }),
            0U);
}

TEST_F(WarmPath, LoadsAndChasesThroughMappingsAllocateNothing) {
  auto ring = Region<std::uint64_t>::create(*fleet_, "ring", {.elements = 10});
  ASSERT_TRUE(ring) << ring.error().message;
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(ring->store(i, (i + 3) % 10));
  if (!ring->describe().shards.at(0).mapped) GTEST_SKIP() << "the shard is not mapped";
  EXPECT_EQ(value_of(ops::chase(*ring, 1, 5).get()), 6U);
  EXPECT_EQ(allocations([&](std::uint64_t i) {
              static_cast<void>(ring->load(i % 10));
              static_cast<void>(ring->get(i % 10).get());
              static_cast<void>(ops::chase(*ring, i % 10, 5).get());
            }),
            0U);
}

}  // namespace
}  // namespace godwit::node
