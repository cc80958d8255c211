// Finding the plug-in, and saying so when there is none.
#include <gmock/gmock.h>
#include <stdlib.h>

#include "code/jit/jit_fixture.hpp"

namespace godwit::code::jit {
namespace {

class PluginPath {
 public:
  explicit PluginPath(const std::string& path) {
    setenv("GODWIT_JIT_PLUGIN", path.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~PluginPath() { unsetenv("GODWIT_JIT_PLUGIN"); }  // NOLINT(concurrency-mt-unsafe)
  PluginPath(const PluginPath&) = delete;
  PluginPath& operator=(const PluginPath&) = delete;
};

TEST(JitPlugin, IsFoundAndDescribesThisMachine) {
  auto jit = open_or_fail();
  const JitInfo info = jit->info();
  EXPECT_EQ(info.llvm_major, 19U);
  EXPECT_THAT(info.llvm_version, testing::StartsWith("19."));
  EXPECT_FALSE(info.cpu.empty());
  EXPECT_NE(info.features.find('+'), std::string::npos);
}

TEST(JitPlugin, MissingIsUnsupportedAndSaysWhatToDo) {
  const PluginPath path("/nonexistent/libgodwit_jit.so");
  const auto jit = open_jit({});
  ASSERT_FALSE(jit);
  EXPECT_EQ(jit.error().code, ErrorCode::unsupported);
  EXPECT_THAT(jit.error().message, testing::HasSubstr("/nonexistent/libgodwit_jit.so"));
  EXPECT_THAT(jit.error().message, testing::HasSubstr("GODWIT_JIT_PLUGIN"));
}

TEST(JitPlugin, AnotherLibraryIsRefused) {
  const PluginPath path("libz.so.1");
  const auto jit = open_jit({});
  ASSERT_FALSE(jit);
  EXPECT_EQ(jit.error().code, ErrorCode::unsupported);
}

TEST(JitPlugin, WarmUpSucceeds) {
  auto jit = open_or_fail();
  const auto warmed = jit->warm_up();
  EXPECT_TRUE(warmed) << warmed.error().message;
  EXPECT_TRUE(jit->take_warnings().empty());
}

}  // namespace
}  // namespace godwit::code::jit
