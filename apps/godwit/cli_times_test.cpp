// Times that commands tell programs.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "sandbox_test.hpp"
#include "trace/json_value.hpp"

namespace godwit::cli {
namespace {

#if defined(__x86_64__)
constexpr const char* kThisTarget = "x86_64";
#else
constexpr const char* kThisTarget = "aarch64";
#endif

TEST(CliTimes, AreInTheUnitThatTheirNamesEndIn) {
  Sandbox sandbox;
  ASSERT_EQ(sandbox.run({"up", "1"}).exit_code, 0);
  const auto before = std::chrono::steady_clock::now();
  const Ran put = sandbox.run({"put", sandbox.write("small", "x"), "--lease", "1h"});
  const std::string handle = put.output.substr(0, put.output.find('\n'));
  const Ran stat = sandbox.run({"stat", handle, "--json"});
  const std::chrono::duration<double, std::milli> most = std::chrono::steady_clock::now() - before;
  const auto told = trace::JsonValue::parse(stat.output);
  ASSERT_TRUE(told) << stat.output << stat.errors;
  const trace::JsonValue& object = (*told)["object"];
  EXPECT_GT(object["age_ms"].number(), 0);
  EXPECT_LT(object["age_ms"].number(), most.count());
  EXPECT_LT(object["time_left_ms"].number(), 3'600'000);
  EXPECT_GT(object["time_left_ms"].number(), 3'600'000 - most.count());
}

// What a command that tells times took, from outside: no time in it is longer. One in nanoseconds
// where microseconds are told would be, and one in milliseconds is shorter than anything can be.
class ToldTimes : public testing::Test {
 protected:
  trace::JsonValue tell(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const auto before = std::chrono::steady_clock::now();
    const Ran ran = sandbox_.run(arguments);
    whole_us_ = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - before)
                    .count();
    auto told = trace::JsonValue::parse(ran.output);
    if (!told) ADD_FAILURE() << ran.output << ran.errors;
    return told ? *std::move(told) : trace::JsonValue();
  }
  std::string put_large(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"put", sandbox_.write("large", std::string(kLarge, 'x'))};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran put = sandbox_.run(arguments);
    EXPECT_EQ(put.exit_code, 0) << put.errors;
    return put.output.substr(0, put.output.find('\n'));
  }
  void expect_between(double least_us, const trace::JsonValue& told, double times = 1) const {
    EXPECT_GT(told.number(), least_us);
    EXPECT_LT(told.number() * times, whole_us_);
  }

  static constexpr std::size_t kLarge = std::size_t{32} << 20;
  // At 40 GB/s, more than any copy of it reaches here. In milliseconds it would take a second.
  static constexpr double kLeastCopyUs = kLarge / 40e3;

  Sandbox sandbox_;
  double whole_us_ = 0;
};

TEST_F(ToldTimes, OfAResolveAreLongerThanACopyAndShorterThanTheCommand) {
  ASSERT_EQ(sandbox_.run({"up", "2", "--tcp"}).exit_code, 0);
  const trace::JsonValue told = tell({"explain", put_large({"--on", "n1"}), "--measure"});
  ASSERT_EQ(told["measured"]["by"].text(), "stream");
  expect_between(kLeastCopyUs, told["measured"]["first_us"]);
  expect_between(kLeastCopyUs, told["measured"]["later_us"], 8);  // the median of 15
  expect_between(1, told["ask_us"], 16);                          // the median of 31 round trips
}

TEST_F(ToldTimes, OfAChannelAreLongerThanACopyAndShorterThanTheCommand) {
  ::setenv("GODWIT_CHANNEL", ("scratch file:" + sandbox_.file("channel")).c_str(), 1);
  ASSERT_EQ(sandbox_.run({"up", "1"}).exit_code, 0);
  const trace::JsonValue told = tell({"explain", put_large({"--channel", "scratch"}), "--measure"});
  ::unsetenv("GODWIT_CHANNEL");
  int measured = 0;
  for (const trace::JsonValue& path : told["paths"].items()) {
    if (path["name"].text() != "scratch") continue;
    ++measured;
    expect_between(kLeastCopyUs, path["last_us"]);
    expect_between(kLeastCopyUs, path["expected_us"]);
  }
  EXPECT_EQ(measured, 1);
}

TEST_F(ToldTimes, OfACallAreLongerThanItsFunctionAndShorterThanTheCommand) {
  ASSERT_EQ(sandbox_.run({"up", "1"}).exit_code, 0);
  const std::string bundle = sandbox_.file("pause.gdw");
  const std::string source = sandbox_.write("pause.cpp", R"(
#include <poll.h>
#include <godwit/mobile.hpp>
void pause_50_ms() { ::poll(nullptr, 0, 50); }
GODWIT_EXPORT(pause_50_ms);
)");
  const Ran compiled =
      sandbox_.run({"cc", source, "-o", bundle, "--target", kThisTarget, "--kind", "native"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.errors;
  const trace::JsonValue told = tell({"run", bundle, "pause_50_ms", "--on", "n0", "--repeat", "3"});
  ASSERT_EQ(told["results"].items().size(), 1U);
  const trace::JsonValue& result = told["results"].items().front();
  expect_between(50'000, result["took_us"]);
  expect_between(50'000, result["latency_us"]["min"], 3);
  expect_between(50'000, result["latency_us"]["mean"], 3);
  expect_between(50'000, result["latency_us"]["max"]);
}

}  // namespace
}  // namespace godwit::cli
