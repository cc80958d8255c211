#include "trace/json.hpp"

#include <gtest/gtest.h>

#include <string>

namespace godwit::trace {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(Json, EscapesWhatJsonReserves) {
  EXPECT_EQ(quoted("plain"), R"("plain")");
  EXPECT_EQ(quoted("a\"b\\c\nd\te\r"), R"("a\"b\\c\nd\te\r")");
  EXPECT_EQ(quoted(std::string_view("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
}

TEST(Json, KeepsUtf8) {
  EXPECT_EQ(quoted("é € 🐦"), "\"é € 🐦\"");
}

TEST(Json, ReplacesBytesThatAreNotUtf8) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(quoted("a\xFFz"), "\"a" + bad + "z\"");
  EXPECT_EQ(quoted("\xC3"), "\"" + bad + "\"") << "truncated sequence";
  EXPECT_EQ(quoted("\xC0\xAF"), "\"" + bad + bad + "\"") << "overlong slash";
  EXPECT_EQ(quoted("\xE0\x80\x80"), "\"" + bad + bad + bad + "\"") << "overlong, three bytes";
  EXPECT_EQ(quoted("\xED\xA0\x80"), "\"" + bad + bad + bad + "\"") << "surrogate";
  EXPECT_EQ(quoted("\xF4\x90\x80\x80"), "\"" + bad + bad + bad + bad + "\"") << "past U+10FFFF";
}

TEST(Json, PutsCommasBetweenValuesAndNowhereElse) {
  Json json;
  json.open('{').field("a", 1).key("b").open('[').value("x\"").value(true).close(']');
  json.key("c").open('{').close('}').field("d", std::vector<std::string>{}).close('}');
  EXPECT_EQ(json.text(), R"({"a": 1, "b": ["x\"", true], "c": {}, "d": []})");
}

}  // namespace
}  // namespace godwit::trace
