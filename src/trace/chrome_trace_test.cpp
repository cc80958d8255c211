#include "trace/chrome_trace.hpp"

#include <gtest/gtest.h>

#include <array>

namespace godwit::trace {
namespace {

TEST(ChromeTrace, WritesSpansInstantsAndTheProcessName) {
  const std::array events{
      Event{.name = "load", .track = 2, .start = {1'500}, .duration = Duration(250), .argument = 9},
      Event{.name = "say \"hi\"", .track = 0, .start = {2'000}},
  };
  EXPECT_EQ(chrome_trace_json({.pid = 12, .name = "n1"}, events),
            R"({"traceEvents":[{"ph":"M","name":"process_name","pid":12,"args":{"name":"n1"}},
{"name":"load","pid":12,"tid":2,"ts":1.500,"ph":"X","dur":0.250,"args":{"value":9}},
{"name":"say \"hi\"","pid":12,"tid":0,"ts":2.000,"ph":"i","s":"t","args":{"value":0}}]}
)");
}

TEST(ChromeTrace, IsValidWithoutEvents) {
  EXPECT_EQ(chrome_trace_json({.pid = 1, .name = ""}, {}),
            "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,"
            "\"args\":{\"name\":\"\"}}]}\n");
}

}  // namespace
}  // namespace godwit::trace
