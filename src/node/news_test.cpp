// A call that travels to a node its node has not heard of yet.
#include <gtest/gtest.h>

#include "base/ids.hpp"
#include "code/native/runtime_directory.hpp"
#include "node/fleet_for_test.hpp"
#include "node/node.hpp"
#include "node/places.hpp"

namespace godwit::node {
namespace {

class NewsOfRealNodes : public testing::Test {
 protected:
  std::unique_ptr<Node> start(NodeId id, const std::string& name, std::vector<std::string> join) {
    Settings settings;
    settings.name = name;
    settings.id = to_hex(id.value);
    settings.runtime_dir = directory_.path().string();
    settings.listen = {node_address(directory_.path(), name)};
    settings.join = std::move(join);
    settings.jit = "off";
    auto node = Node::start(settings, log_);
    if (!node) ADD_FAILURE() << node.error().message;
    return *std::move(node);
  }
  static std::uint64_t hops_of(Node& node) {
    std::uint64_t hops = 0;
    node.runtime().run_as_owner([&] { hops = node.runtime().engine().stats().hops_sent; });
    return hops;
  }

  trace::Log log_ = trace::Log::silent();
  code::RuntimeDirectory directory_ = make_runtime_directory().value();
};

TEST_F(NewsOfRealNodes, CallTravelsToANodeThatJoinsWhileItWaits) {
  const NodeId late = random_node_id();
  const auto first = start(random_node_id(), "first", {});
  auto fleet = Fleet::join(first->runtime().addresses().front());
  ASSERT_TRUE(fleet) << fleet.error().message;
  const auto visit = kernels().function<std::uint64_t(std::uint64_t)>("visit").value();
  auto call = visit.on(fleet->node(0))(late.value);
  ASSERT_TRUE(eventually([&] { return hops_of(*first) == 1; }));
  const auto second = start(late, "second", first->runtime().addresses());
  EXPECT_EQ(value_of(call.get()), late.value);
}

TEST_F(NewsOfRealNodes, CallToNobodyEnds) {
  const auto first = start(random_node_id(), "first", {});
  auto fleet = Fleet::join(first->runtime().addresses().front());
  ASSERT_TRUE(fleet) << fleet.error().message;
  const auto visit = kernels().function<std::uint64_t(std::uint64_t)>("visit").value();
  const auto outcome = visit.on(fleet->node(0))(random_node_id().value).get();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().ending, Ending::node_lost);
  EXPECT_NE(to_string(outcome.error()).find("no node of this fleet has the id"), std::string::npos);
}

}  // namespace
}  // namespace godwit::node
