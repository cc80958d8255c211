// `godwit relay`, `godwit relay status` and `godwit key relay`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "exit.hpp"
#include "sandbox_test.hpp"
#include "trace/json_value.hpp"

namespace godwit::cli {
namespace {

using testing::HasSubstr;

class CliRelay : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(sandbox_.run({"key", "new", fleet_key_}).exit_code, 0);
    ASSERT_EQ(sandbox_.run({"key", "relay", fleet_key_, relay_key_}).exit_code, 0);
  }
  // Returns where it listens.
  std::string start_relay() {
    relay_ = sandbox_.start({"relay", "--listen", "127.0.0.1:0", "--key-file", relay_key_});
    EXPECT_TRUE(eventually([&] { return relay_->output().ends_with("\n"); }));
    const std::string line = relay_->output();
    EXPECT_THAT(line, testing::StartsWith("ready tcp:127.0.0.1:"));
    const std::size_t begin = line.find(':') + 1;
    return line.substr(begin, line.size() - begin - 1);
  }

  Sandbox sandbox_;
  std::string fleet_key_ = sandbox_.file("fleet.key");
  std::string relay_key_ = sandbox_.file("relay.key");
  std::unique_ptr<Running> relay_;
};

TEST_F(CliRelay, TellsOfItselfToWhoHoldsAKeyAndEndsWhenToldTo) {
  const std::string place = start_relay();
  for (const std::string& key : {relay_key_, fleet_key_}) {
    const Ran asked = sandbox_.run({"relay", "status", place, "--key-file", key, "--json"});
    ASSERT_EQ(asked.exit_code, 0) << asked.errors;
    const auto status = trace::JsonValue::parse(asked.output);
    ASSERT_TRUE(status) << asked.output;
    EXPECT_EQ((*status)["address"].text(), "tcp:" + place);
  }
  EXPECT_THAT(sandbox_.run({"relay", "status", place, "--key-file", relay_key_}).output,
              HasSubstr("0 enrolled"));
  const std::string other = sandbox_.file("other.key");
  ASSERT_EQ(sandbox_.run({"key", "new", other}).exit_code, 0);
  EXPECT_NE(sandbox_.run({"relay", "status", place, "--key-file", other}).exit_code, 0);
  relay_->signal(SIGTERM);
  EXPECT_EQ(relay_->finish().exit_code, 0);
}

TEST_F(CliRelay, ANodeEnrolsAndIsFoundByTheRelaysAddressAlone) {
  const std::string place = start_relay();
  const auto node = sandbox_.start({"node", "--name", "far", "--listen", "relay:" + place,
                                    "--key-file", fleet_key_, "--jit", "off"});
  Ran listed;
  EXPECT_TRUE(eventually([&] {
    listed = sandbox_.run({"ls", "--connect", "relay:" + place, "--key-file", fleet_key_});
    return listed.exit_code == 0;
  })) << listed.errors;
  EXPECT_THAT(listed.output, HasSubstr("far"));
  EXPECT_THAT(listed.output, HasSubstr("relay:" + place + "/"));
}

TEST_F(CliRelay, WhatIsMissingIsSaid) {
  const Ran bare = sandbox_.run({"relay"});
  EXPECT_EQ(bare.exit_code, static_cast<int>(Exit::usage));
  EXPECT_THAT(bare.errors, HasSubstr("--listen HOST:PORT"));
  EXPECT_NE(sandbox_.run({"relay", "--listen", "nowhere", "--key-file", relay_key_}).exit_code, 0);
  EXPECT_NE(sandbox_.run({"key", "relay", fleet_key_, relay_key_}).exit_code, 0)
      << "a key was overwritten";
  const Ran keyless = sandbox_.run({"node", "--relay", "127.0.0.1:1", "--jit", "off"});
  EXPECT_NE(keyless.exit_code, 0);
  EXPECT_THAT(keyless.errors, HasSubstr("key"));
}

}  // namespace
}  // namespace godwit::cli
