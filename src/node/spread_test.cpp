// One object to many nodes, in whole fleets.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <future>
#include <map>

#include "node/object_for_test.hpp"

namespace godwit::node {
namespace {

using std::chrono::seconds;
using Numbers = Ref<std::uint64_t[]>;
using Span = std::span<const std::uint64_t>;

constexpr std::size_t kNodes = 8;
constexpr std::size_t kTenMegabytes = 1'250'000;  // elements

class Spreading : public testing::TestWithParam<LocalTransport> {
 protected:
  static LocalOptions options() {
    LocalOptions options;
    options.transport = GetParam();
    return options;
  }
  [[nodiscard]] Numbers put(std::size_t count) const {
    return good(fleet_.node(0).put(numbers(count)));
  }
  [[nodiscard]] SpreadReport spread_all(const Numbers& ref, const SpreadOptions& options = {}) {
    auto report = good(spread(ref, fleet_.nodes(), options));
    EXPECT_EQ(report.nodes.size(), fleet_.nodes().size());
    for (const auto& node : report.nodes) {
      EXPECT_FALSE(node.error) << node.error->message;
    }
    return report;
  }
  [[nodiscard]] Numbers copy_at(const SpreadReport::Node& node) const {
    return good(Numbers::from(fleet_, node.copy));
  }
  [[nodiscard]] pid_t pid_of(std::size_t node) const {
    return static_cast<pid_t>(status_of(fleet_, fleet_.node(node))["pid"].count());
  }
  // Of a node that keeps no other object.
  [[nodiscard]] bool has_a_copy(std::size_t node) const {
    const auto list = detail::ObjectDoor(fleet_.objects()).list(fleet_.node(node).id(), 10);
    return list && !list->empty();
  }

  Fleet fleet_ = local(kNodes, options());
  Bundle code_ = kernels();
  Function<std::uint64_t(Span)> sum_ = good(code_.function<std::uint64_t(Span)>("sum"));
};

TEST_P(Spreading, EveryNodeGetsACopyAndNoneSendsManyOfThem) {
  const Numbers ref = put(100'000);
  const SpreadReport report = spread_all(ref, {.fan_out = 2});
  std::map<std::uint64_t, std::uint64_t> parents;
  std::map<std::uint64_t, int> served;
  for (const auto& node : report.nodes) {
    if (node.node == ref.home()) {
      EXPECT_EQ(node.parent, 0U);
      EXPECT_EQ(node.bytes, 0U);
      continue;
    }
    EXPECT_EQ(node.bytes, 800'000U);
    EXPECT_EQ(node.copy.home, node.node);
    EXPECT_GT(node.time.count(), 0);
    parents[node.node] = node.parent;
    EXPECT_LE(++served[node.parent], 2);
  }
  EXPECT_EQ(good(ref.status()).reads, 2U) << "the home sends as many copies as the fan-out";
  for (const auto& node : report.nodes) {
    if (node.parent == 0) continue;
    EXPECT_EQ(good(copy_at(node).status()).reads, static_cast<std::uint64_t>(served[node.node]));
    std::size_t steps = 1;
    for (std::uint64_t at = node.parent; at != ref.home(); at = parents[at]) ++steps;
    EXPECT_LE(steps, 3U) << "seven nodes, two at a time";
  }
}

TEST_P(Spreading, FunctionsReadTheCopyOfTheirNode) {
  const auto resolving = good(code_.function<std::uint64_t(Numbers)>("sum_of_inline"));
  const auto values = numbers(50'000);
  const Numbers ref = put(values.size());
  const SpreadReport report = spread_all(ref);
  const std::uint64_t reads = good(ref.status()).reads;
  for (std::size_t i = 1; i < kNodes; ++i) {
    const NodeHandle node = fleet_.node(i);
    EXPECT_EQ(value_of(sum_.on(node)(ref).get()), total(values));
    EXPECT_EQ(value_of(resolving.on(node)(ref).get()), total(values)) << "it is at hand";
  }
  EXPECT_EQ(good(ref.status()).reads, reads) << "nobody has asked the home";

  good(ref.evict());
  EXPECT_EQ(value_of(sum_.on(fleet_.node(3))(ref).get()), total(values)) << "copies stay";
  report.evict_copies(fleet_);
  const auto gone = sum_.on(fleet_.node(3))(ref).get();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().reason, ErrorCode::not_found) << to_string(gone.error());
}

TEST_P(Spreading, ACopyIsOneVersionForItsTime) {
  const Numbers ref = put(3'000);
  const SpreadReport report = spread_all(ref, {.keep = seconds(2)});
  const auto longer = numbers(4'000);
  const Numbers next = good(ref.update(longer));
  EXPECT_EQ(value_of(sum_.on(fleet_.node(1))(next).get()), total(longer)) << "not the copy";
  for (const auto& node : report.nodes) {
    if (node.parent == 0) continue;
    EXPECT_TRUE(eventually([&] { return !good(copy_at(node).exists()); }));
  }
  const auto late = sum_.on(fleet_.node(1))(ref).get();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason, ErrorCode::stale) << to_string(late.error());
}

TEST_P(Spreading, AgainItOnlyExtendsTheTime) {
  const Numbers ref = put(1'000);
  const SpreadReport first = spread_all(ref);
  const SpreadReport second = spread_all(ref, {.keep = seconds(600)});
  for (std::size_t i = 0; i < kNodes; ++i) {
    EXPECT_EQ(first.nodes[i].copy, second.nodes[i].copy);
    if (first.nodes[i].parent == 0) continue;
    EXPECT_GT(*good(copy_at(second.nodes[i]).status()).time_left, seconds(500));
  }
}

TEST_P(Spreading, AHandleThatIsNotGenuineIsSpreadNowhereAndFindsNoCopy) {
  const Numbers ref = put(1'000);
  Handle forged = ref.handle();
  forged.mac ^= 1;
  const Numbers wrong = good(Numbers::from(fleet_, forged));
  expect_error(spread(wrong, fleet_.nodes()), ErrorCode::permission);
  EXPECT_FALSE(has_a_copy(1));

  EXPECT_EQ(spread_all(ref).failed(), 0U);
  EXPECT_TRUE(has_a_copy(1));
  const auto refused = sum_.on(fleet_.node(1))(wrong).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, ErrorCode::permission) << to_string(refused.error());
  expect_error(spread(good(ref.restrict_to(Rights::evict)), fleet_.nodes()), ErrorCode::permission);
  expect_error(spread(ref, fleet_.nodes(), {.fan_out = 0}), ErrorCode::invalid_argument);
  good(ref.evict());
  expect_error(spread(ref, fleet_.nodes()), ErrorCode::not_found);
}

// The node that is lost is stopped before it is asked, so it surely has others below it to serve.
TEST_P(Spreading, ThoseBelowANodeThatDiesAreServedByItsParent) {
  const Numbers ref = put(kTenMegabytes);
  const NodeHandle lost = fleet_.node(1);
  const std::uint64_t lost_id = lost.id();
  const std::vector<NodeHandle> nodes = fleet_.nodes();
  const pid_t pid = pid_of(1);
  ASSERT_GT(pid, 1);
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  auto later = std::async(std::launch::async, [&] { return spread(ref, nodes, {.fan_out = 2}); });
  EXPECT_TRUE(eventually([&] { return has_a_copy(5); })) << "the other child of the home";
  good(fleet_.kill(lost));
  const SpreadReport report = good(later.get());
  EXPECT_EQ(report.failed(), 1U);
  for (const auto& node : report.nodes) {
    EXPECT_NE(node.parent, lost_id);
    EXPECT_EQ(node.error.has_value(), node.node == lost_id)
        << (node.error ? node.error->message : "it has a copy");
    if (!node.error) continue;
    EXPECT_TRUE(says_gone(node.error->code)) << node.error->message;
  }
  for (const NodeHandle& node : nodes) {
    if (node.id() == lost_id) continue;
    EXPECT_EQ(value_of(sum_.on(node)(ref).get()), total(numbers(kTenMegabytes)));
  }
}

TEST_P(Spreading, WhatIsEvictedMeanwhileIsSpreadAsFarAsItGot) {
  const Numbers ref = put(kTenMegabytes);
  const std::vector<NodeHandle> nodes = fleet_.nodes();
  const pid_t pid = pid_of(1);
  ASSERT_GT(pid, 1);
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  auto later = std::async(std::launch::async, [&] { return spread(ref, nodes, {.fan_out = 2}); });
  EXPECT_TRUE(eventually([&] { return has_a_copy(5); }));
  good(ref.evict());
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
  const SpreadReport report = good(later.get());
  EXPECT_GE(report.failed(), 1U);
  for (const auto& node : report.nodes) {
    if (node.parent == 0) continue;
    if (!node.error) {
      EXPECT_EQ((*copy_at(node)).size(), kTenMegabytes);
      continue;
    }
    // Over tcp a silence of 2 s ends a link.
    EXPECT_TRUE(node.error->code == ErrorCode::not_found || says_gone(node.error->code))
        << node.error->message;
  }
}

TEST_P(Spreading, FunctionsTakeItWhileItIsBeingSpread) {
  const auto values = numbers(kTenMegabytes);
  const Numbers ref = put(values.size());
  auto later = std::async(std::launch::async, [&] { return spread(ref, fleet_.nodes()); });
  std::vector<Future<std::uint64_t>> calls;
  for (int round = 0; round < 3; ++round) {
    for (const NodeHandle& node : fleet_.nodes()) calls.push_back(sum_.on(node)(ref));
  }
  for (auto& call : calls) EXPECT_EQ(value_of(call.get()), total(values));
  EXPECT_EQ(good(later.get()).failed(), 0U);
  EXPECT_TRUE(eventually([&] { return good(ref.status()).pins == 0; })) << "all let go of it";
}

INSTANTIATE_TEST_SUITE_P(Fleets, Spreading,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
