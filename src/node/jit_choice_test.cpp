// Nodes with and without a compiler, and what becomes of bitcode there.
#include <cstdlib>

#include "node/fleet_for_test.hpp"

namespace godwit::node {
namespace {

Outcome<double> call_bitcode(Fleet& fleet) {
  const Bundle bitcode = kernels(GODWIT_TEST_BITCODE_BUNDLE);
  const auto norm = bitcode.function<double(std::span<const double>)>("norm").value();
  const std::vector<double> samples{3, 4, 12};
  return norm.on(fleet.node(0))(samples).get();
}

// What a caller hears from a node that has no use for bitcode.
void expect_no_slice(Fleet& fleet) {
  EXPECT_FALSE(fleet.describe()[0].has_jit);
  const auto outcome = call_bitcode(fleet);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().ending, Ending::rejected);
  EXPECT_EQ(outcome.error().reason, ErrorCode::no_slice) << outcome.error().message;
  const auto native = kernels().function<Add>("add").value();
  EXPECT_EQ(value_of(native.on(fleet.node(0))(1, 2).get()), 3U) << "native code runs there";
}

TEST(JitChoice, OffMeansNativeCodeOnly) {
  Fleet fleet = local(1, {.node_arguments = {"--jit=off"}});
  expect_no_slice(fleet);
}

TEST(JitChoice, NodeWithoutThePlugInSaysSo) {
  ASSERT_EQ(::setenv("GODWIT_JIT_PLUGIN", "/nonexistent/libgodwit_jit.so", 1), 0);
  Fleet fleet = local(1);
  ASSERT_EQ(::unsetenv("GODWIT_JIT_PLUGIN"), 0);
  expect_no_slice(fleet);
}

TEST(JitChoice, PreloadedCompilerRunsBitcode) {
  Fleet fleet = local(1, {.node_arguments = {"--jit=preload"}});
  EXPECT_TRUE(fleet.describe()[0].has_jit);
  EXPECT_EQ(value_of(call_bitcode(fleet)), 13);
}

}  // namespace
}  // namespace godwit::node
