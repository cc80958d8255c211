// The fast path allocates nothing, at the caller nor at the node: both are in this process here.
#include <cstdlib>
#include <filesystem>

#include "base/allocation_count.hpp"
#include "code/native/runtime_directory.hpp"
#include "node/fleet_for_test.hpp"
#include "node/node.hpp"
#include "node/places.hpp"

namespace godwit::node {
namespace {

TEST(WarmPath, AllocatesNothingOnEitherSide) {
  if (!counts_allocations) GTEST_SKIP() << "a sanitizer has replaced operator new";
  const auto directory = make_runtime_directory().value();
  trace::Log log = trace::Log::silent();
  Settings settings;
  settings.name = "warm";
  settings.runtime_dir = directory.path().string();
  settings.listen = {node_address(directory.path(), "warm")};
  settings.jit = "off";
  auto node = Node::start(settings, log);
  ASSERT_TRUE(node) << node.error().message;
  auto fleet = Fleet::join(settings.listen.front());
  ASSERT_TRUE(fleet) << fleet.error().message;
  const auto add = kernels().function<Add>("add").value().on(fleet->node(0));
  for (std::uint64_t i = 0; i < 2000; ++i) ASSERT_EQ(value_of(add(i, 1).get()), i + 1);

  // Other threads of the process (gossip, timers) may allocate now and then: the quietest of some
  // stretches is the path itself.
  std::uint64_t least = UINT64_MAX;
  for (int round = 0; round < 20 && least > 0; ++round) {
    const std::uint64_t before = allocation_count();
    for (std::uint64_t i = 0; i < 1000; ++i) static_cast<void>(add(i, 1).get());
    least = std::min(least, allocation_count() - before);
  }
  EXPECT_EQ(least, 0U) << "allocations in 1,000 warm calls";
}

}  // namespace
}  // namespace godwit::node
