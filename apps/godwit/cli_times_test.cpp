// Times that commands tell programs.
#include <gtest/gtest.h>

#include <chrono>

#include "sandbox_test.hpp"
#include "trace/json_value.hpp"

namespace godwit::cli {
namespace {

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

}  // namespace
}  // namespace godwit::cli
