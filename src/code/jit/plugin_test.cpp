// Finding the plug-in, and saying so when there is none.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <link.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "code/jit/jit_fixture.hpp"
#include "code/jit/library_search.hpp"

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

// What dlopen() finds by name alone lies in directories that differ from system to system.
TEST(JitPlugin, IsInstalledWhereverTheLinkerFindsIt) {
  {
    const PluginPath path("libz.so.1");
    EXPECT_TRUE(is_jit_installed());
  }
  {
    const PluginPath path("libgodwit-none.so");
    EXPECT_FALSE(is_jit_installed());
  }
  {
    const PluginPath path("/nonexistent/libgodwit_jit.so");
    EXPECT_FALSE(is_jit_installed());
  }
  EXPECT_TRUE(is_jit_installed()) << "in the build tree";
}

TEST(LibrarySearch, FindsTheFileThatTheLinkerOpens) {
  void* handle = dlopen("libz.so.1", RTLD_LAZY);
  ASSERT_NE(handle, nullptr);
  link_map* opened = nullptr;
  ASSERT_EQ(dlinfo(handle, RTLD_DI_LINKMAP, &opened), 0);
  const std::string found = find_library("libz.so.1");
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(std::filesystem::equivalent(found, opened->l_name)) << found;
  dlclose(handle);
}

TEST(LibrarySearch, BelievesLdconfigsCacheIfTheFileIsThere) {
  const TemporaryDirectory directory;
  const std::string library = directory.path() + "/libgodwit-cached.so";
  const std::string cache = directory.path() + "/cache";
  const auto write_cache = [&](const std::string& strings) {
    std::ofstream(cache, std::ios::binary) << std::string(48, '\1') << '\0' << strings;
  };
  write_cache("libgodwit-cached.so" + std::string(1, '\0') + library + std::string(1, '\0'));
  EXPECT_EQ(find_library("libgodwit-cached.so", cache), "") << "the cache is older than the disk";
  std::ofstream(library) << "here";
  EXPECT_EQ(find_library("libgodwit-cached.so", cache), library);
  EXPECT_EQ(find_library("cached.so", cache), "") << "part of a name is no name";
  write_cache("/");
  EXPECT_EQ(find_library("libgodwit-cached.so", cache), "");
  EXPECT_EQ(find_library("libgodwit-cached.so", directory.path() + "/none"), "");
}

TEST(JitPlugin, WarmUpSucceeds) {
  auto jit = open_or_fail();
  const auto warmed = jit->warm_up();
  EXPECT_TRUE(warmed) << warmed.error().message;
  EXPECT_TRUE(jit->take_warnings().empty());
}

}  // namespace
}  // namespace godwit::code::jit
