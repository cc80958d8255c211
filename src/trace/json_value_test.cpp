#include "trace/json_value.hpp"

#include <gtest/gtest.h>

#include <string>

#include "trace/json.hpp"

namespace godwit::trace {
namespace {

TEST(JsonValue, ReadsWhatTheWriterWrites) {
  Json json;
  json.open('{').field("name", "a\"b\\\n\t€").field("epoch", UINT64_MAX).field("part", 0.25);
  json.key("list").open('[').value(1).value(true).value(false).open('{').close('}').close(']');
  json.key("none").raw("null").close('}');
  const auto read = JsonValue::parse(json.text());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)["name"].text(), "a\"b\\\n\t€");
  EXPECT_EQ((*read)["epoch"].count(), UINT64_MAX);
  EXPECT_DOUBLE_EQ((*read)["part"].number(), 0.25);
  ASSERT_EQ((*read)["list"].items().size(), 4U);
  EXPECT_TRUE((*read)["list"].items()[1].truth());
  EXPECT_FALSE((*read)["list"].items()[2].truth());
  EXPECT_EQ((*read)["list"].items()[3].kind(), JsonValue::Kind::object);
  EXPECT_EQ(read->members().size(), 5U);
}

TEST(JsonValue, WhatIsMissingOrOfAnotherKindReadsAsEmpty) {
  const JsonValue read = JsonValue::parse(R"({"text": "7", "list": [1.5, -3]})").value();
  EXPECT_EQ(read["nothing"]["deeper"].text(), "");
  EXPECT_EQ(read["text"].count(), 0U);
  EXPECT_EQ(read["list"].items()[0].count(), 0U) << "not whole";
  EXPECT_EQ(read["list"].items()[1].count(), 0U) << "negative";
  EXPECT_DOUBLE_EQ(read["list"].items()[1].number(), -3);
  EXPECT_EQ(read["list"].text(), "");
}

TEST(JsonValue, ReadsEscapes) {
  EXPECT_EQ(JsonValue::parse(R"("\u0041\u20ac\ud83d\ude00\/\b\f\r")")->text(), "A€😀/\b\f\r");
  EXPECT_EQ(JsonValue::parse(R"("\ud83dz")")->text(), "\xEF\xBF\xBDz") << "half a pair";
}

TEST(JsonValue, RefusesWhatIsNotJson) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[",
                           "[1,",
                           "[1 2]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{a: 1}",
                           "{\"a\": 1,}",
                           "[1,]",
                           "01",
                           "-",
                           "1.",
                           "1e",
                           "+1",
                           "nul",
                           "truefalse",
                           "\"open",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"line\nbreak\"",
                           "1 1",
                           "]"}) {
    const auto read = JsonValue::parse(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::bad_format) << text;
  }
}

TEST(JsonValue, DepthIsBounded) {
  const std::size_t most = JsonValue::kMaxDepth;
  EXPECT_TRUE(JsonValue::parse(std::string(most, '[') + std::string(most, ']')));
  EXPECT_FALSE(JsonValue::parse(std::string(most + 2, '[') + std::string(most + 2, ']')));
  EXPECT_FALSE(JsonValue::parse(std::string(1'000'000, '[')));
}

}  // namespace
}  // namespace godwit::trace
