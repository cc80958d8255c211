// Channels of somebody else's, which come with a library, by settings alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "exit.hpp"
#include "sandbox_test.hpp"

namespace godwit::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class CliChannel : public testing::Test {
 protected:
  ~CliChannel() override { forget_settings(); }
  static void forget_settings() {
    for (const char* name : {"GODWIT_CHANNEL", "GODWIT_CHANNEL_PLUGINS"}) ::unsetenv(name);
  }
  std::string good(const std::vector<std::string>& arguments) {
    const Ran ran = sandbox_.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.errors;
    EXPECT_EQ(ran.errors, "");
    return ran.output;
  }
  [[nodiscard]] std::ptrdiff_t values() const {
    if (!fs::exists(folder_)) return 0;
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  Sandbox sandbox_;
  const std::string folder_ = sandbox_.file("box");
};

// Each command is a process of its own, and so are the nodes.
TEST_F(CliChannel, OneOfAPlugInKeepsTheBytesForAllWhoLoadIt) {
  ::setenv("GODWIT_CHANNEL_PLUGINS", GODWIT_TEST_CHANNEL_PLUGIN, 1);
  ::setenv("GODWIT_CHANNEL", ("mine box:" + folder_).c_str(), 1);
  good({"up", "2"});
  std::string bytes;
  while (bytes.size() < 300'000) bytes += std::to_string(bytes.size()) + " ";
  const std::string file = sandbox_.write("file", bytes);
  const auto put = [&] {
    std::string handle = good({"put", file, "--channel", "mine", "--on", "n1"});
    handle.pop_back();
    return handle;
  };
  const std::string handle = put();
  EXPECT_EQ(values(), 1);
  EXPECT_THAT(good({"stat", handle}),
              AllOf(HasSubstr("state      in a channel\n"), HasSubstr("channel    mine\n")));
  EXPECT_THAT(good({"explain", handle}), HasSubstr("resolve   by channel: the channel has it"));
  EXPECT_TRUE(good({"get", handle}) == bytes);
  EXPECT_EQ(good({"get", handle, "--range", "1000:1010"}), bytes.substr(1000, 10));
  EXPECT_THAT(good({"stat", handle}), HasSubstr("state      in a channel\n"));
  good({"evict", handle});
  EXPECT_TRUE(eventually([&] { return values() == 0; }));

  const std::string other = put();
  forget_settings();
  EXPECT_TRUE(good({"get", other}) == bytes) << "by way of the home, which has the library";
  EXPECT_THAT(good({"stat", other}), HasSubstr("channel    mine\n"));
}

TEST_F(CliChannel, APlugInThatIsNotThereIsSaidSoAtTheStart) {
  ::setenv("GODWIT_CHANNEL_PLUGINS", sandbox_.file("missing.so").c_str(), 1);
  const Ran ran = sandbox_.run({"up", "1"});
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_THAT(ran.errors, AllOf(HasSubstr("channel plug-in"), HasSubstr("missing.so")));
}

}  // namespace
}  // namespace godwit::cli
