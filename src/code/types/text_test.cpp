#include "code/types/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/folder_for_test.hpp"
#include "code/types/samples_test.hpp"
#include "godwit/codec.hpp"
#include "godwit/handle.hpp"

namespace godwit::code {
namespace {

using ::testing::HasSubstr;

Result<Buffer> encode_one(std::string_view type, const std::string& word) {
  const auto signature = parse_signature("(" + std::string(type) + ") -> unit");
  EXPECT_TRUE(signature.has_value()) << type;
  return encode_text(signature.value(), {&word, 1});
}

std::string text_round_trip(std::string_view type, const std::string& word) {
  const auto blob = encode_one(type, word);
  if (!blob) return "error: " + blob.error().message;
  return format_text(parse_type(type).value(), blob->view()).value_or("error");
}

std::string json(std::string_view type, const std::string& word) {
  const auto blob = encode_one(type, word);
  if (!blob) return "error: " + blob.error().message;
  return format_json(parse_type(type).value(), blob->view()).value_or("error");
}

constexpr std::string_view kPoint = "struct Point{x: f64 @0, y: f64 @8; size 16 align 8}";

TEST(Text, GoesThereAndBack) {
  const std::pair<std::string, std::string> cases[] = {
      {"bool", "true"},
      {"i8", "-128"},
      {"u64", "18446744073709551615"},
      {"f32", "0.1"},
      {"f64", "-1e+300"},
      {"f64", "inf"},
      {"f64", "nan"},
      {"str", "as it is, [even] {this}"},
      {"str", ""},
      {"bytes", "hex:00ff"},
      {"span<f64>", "[1, 2.5, -3]"},
      {"list<u8>", "[]"},
      {"list<str>", "[\"a\", \"b c\", \"\\\"\\n\\u0001\xc3\xa9\"]"},
      {"array<i16, 3>", "[1, -2, 3]"},
      {"array<array<bool, 2>, 1>", "[[true, false]]"},
      {"tuple<i32, str>", "[-7, \"x\"]"},
      {"map<str, f64>", "{\"a\": 1.5, \"b\": 2}"},
      {"map<i32, list<u8>>", "{-1: [1], 2: []}"},
      {"opt<u8>", "null"},
      {"opt<u8>", "200"},
      {"list<opt<bytes>>", "[null, hex:0a]"},
      {std::string(kPoint), "{x: 1, y: -2.5}"},
      {"list<" + std::string(kPoint) + ">", "[{x: 1, y: 2}, {x: 3, y: 4}]"},
      {"struct R{name: str, at: " + std::string(kPoint) + ", n: opt<u8>}",
       "{name: \"x\", at: {x: 0, y: 1}, n: null}"},
  };
  for (const auto& [type, word] : cases) EXPECT_EQ(text_round_trip(type, word), word) << type;
}

TEST(Text, AcceptsOtherWaysToWriteAValue) {
  EXPECT_EQ(text_round_trip("u8", "0xff"), "255");
  EXPECT_EQ(text_round_trip("span<u8>", " [ 1,2 , 3 ] "), "[1, 2, 3]");
  EXPECT_EQ(text_round_trip("list<str>", "[bare words, \"q\"]"), "[\"bare words\", \"q\"]");
  EXPECT_EQ(text_round_trip(kPoint, "[1, 2]"), "{x: 1, y: 2}");
  EXPECT_EQ(text_round_trip(kPoint, "{\"y\": 2, \"x\": 1}"), "{x: 1, y: 2}");
  EXPECT_EQ(text_round_trip("bytes", "hi"), "hex:6869");
  EXPECT_EQ(text_round_trip("opt<str>", "a, b"), "\"a, b\"");
  EXPECT_EQ(text_round_trip("list<str>", "[\"\\ud83d\\ude00\"]"), "[\"\xf0\x9f\x98\x80\"]");
  EXPECT_EQ(text_round_trip("struct S{a: str, b: opt<u8>}", "{a: x}"), "{a: \"x\", b: null}");
}

TEST(Text, IsStrictJsonWhenAsked) {
  EXPECT_EQ(json("str", "say \"hi\"\n"), "\"say \\\"hi\\\"\\n\"");
  EXPECT_EQ(json("str", "\xff"), "\"\\ufffd\"");
  EXPECT_EQ(json("f64", "nan"), "\"nan\"");
  EXPECT_EQ(json("bytes", "hex:00ff"), "\"hex:00ff\"");
  EXPECT_EQ(json("map<i32, bool>", "{1: true}"), "{\"1\": true}");
  EXPECT_EQ(json(kPoint, "[1, 2]"), "{\"x\": 1, \"y\": 2}");
  EXPECT_EQ(format_json(Type{}, {}).value(), "null");
  EXPECT_EQ(format_text(Type{}, {}).value(), "");
}

TEST(Text, EncodesTheSameBlobAsCpp) {
  const auto signature = parse_signature(
      signature_of<void(std::uint8_t, std::vector<std::uint16_t>, std::string, sample::Report)>);
  ASSERT_TRUE(signature.has_value()) << signature.error().message;
  const std::string words[] = {
      "5", "[1, 2]", "hi",
      R"({title: "t", path: [{x: 1, y: 2}], counts: {a: -1}, flags: [true, 200], raw: "hex:01"})"};
  const auto blob = encode_text(*signature, words);
  ASSERT_TRUE(blob.has_value()) << blob.error().message;
  const sample::Report report{.title = "t",
                              .path = {{1, 2}},
                              .counts = {{"a", -1}},
                              .mean = {},
                              .flags = {true, 200},
                              .raw = {std::byte{1}}};
  alignas(16) std::byte scratch[512];
  const EncoderFor<std::uint8_t, std::vector<std::uint16_t>, std::string, sample::Report> encoder(
      scratch, std::uint8_t{5}, std::vector<std::uint16_t>{1, 2}, "hi", report);
  ASSERT_EQ(encoder.parts().size(), 1U);
  ASSERT_EQ(blob->size(), encoder.size());
  EXPECT_EQ(std::memcmp(blob->data(), encoder.parts()[0].data(), encoder.size()), 0);
}

TEST(Text, SaysWhichArgumentIsWrongAndWhy) {
  const auto signature = parse_signature("(str, u8) -> unit").value();
  const std::string words[] = {"x", "300"};
  const auto blob = encode_text(signature, words);
  ASSERT_FALSE(blob.has_value());
  EXPECT_EQ(blob.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(blob.error().message, "argument 2 (u8): expected u8, got '300'");
  const auto few = encode_text(signature, {words, 1});
  ASSERT_FALSE(few.has_value());
  EXPECT_EQ(few.error().message, "expected 2 arguments for (str, u8) -> unit, got 1");
}

TEST(Text, RefusesWhatDoesNotFitTheType) {
  const std::pair<std::string, std::string> cases[] = {
      {"u8", "-1"},
      {"u8", "1.5"},
      {"u8", ""},
      {"u8", "1 2"},
      {"i8", "128"},
      {"bool", "1"},
      {"f64", "x"},
      {"span<u8>", "1"},
      {"span<u8>", "[1"},
      {"span<u8>", "[1,]"},
      {"array<u8, 2>", "[1]"},
      {"tuple<u8, u8>", "[1, 2, 3]"},
      {"map<str, u8>", "[]"},
      {"bytes", "hex:0"},
      {"bytes", "hex:zz"},
      {"list<str>", "[\"a]"},
      {"list<str>", "[\"\\q\"]"},
      {"list<str>", "[\"\\ud800\"]"},
      {"u8", "\"1\""},
      {"ref<u8>", "1"},
      {std::string(kPoint), "{x: 1}"},
      {std::string(kPoint), "{x: 1, y: 2, z: 3}"},
      {std::string(kPoint), "{x: 1, x: 2}"},
      {"list<u8>", std::string(5000, '[')},
  };
  for (const auto& [type, word] : cases) {
    const auto blob = encode_one(type, word);
    EXPECT_FALSE(blob.has_value()) << type << " accepted '" << word << "'";
  }
  EXPECT_THAT(text_round_trip(kPoint, "{x: 1}"), HasSubstr("field 'y' of struct Point is missing"));
}

TEST(Text, WritesHandlesAsLinks) {
  Handle handle;
  handle.object.bytes[3] = 7;
  handle.type = type_hash("list<f64>");
  handle.mac = 0x123456789abcdef0;
  const std::string text = handle.to_text();
  EXPECT_EQ(text_round_trip("ref<list<f64>>", text), text);
  EXPECT_EQ(text_round_trip("opt<ref<list<f64>>>", text), '"' + text + '"');
  EXPECT_EQ(text_round_trip("list<ref<list<f64>>>", "[\"" + text + "\"]"), "[\"" + text + "\"]");
  EXPECT_EQ(text_round_trip("tuple<u8, ref<list<f64>>>", "[1, \"" + text + "\"]"),
            "[1, \"" + text + "\"]");
  EXPECT_THAT(text_round_trip("ref<list<f32>>", text), HasSubstr("is not of the type list<f32>"));
  EXPECT_THAT(text_round_trip("ref<list<f64>>", text.substr(0, 50)), HasSubstr("cut short"));
}

TEST(Text, TakesElementsFromAFile) {
  const TestFolder folder;
  const std::string path = folder / "numbers";
  const std::uint16_t numbers[] = {1, 2, 300};
  std::ofstream(path).write(reinterpret_cast<const char*>(numbers), sizeof numbers);
  EXPECT_EQ(text_round_trip("span<u16>", "@" + path), "[1, 2, 300]");
  EXPECT_EQ(text_round_trip("bytes", "@" + path), "hex:010002002c01");
  EXPECT_EQ(text_round_trip("str", "@x"), "@x");
  EXPECT_THAT(text_round_trip("span<u32>", "@" + path), HasSubstr("no multiple of 4"));
  EXPECT_THAT(text_round_trip("span<bool>", "@" + path), HasSubstr("neither 0 nor 1"));
  ASSERT_TRUE(std::filesystem::remove(path));
  EXPECT_EQ(encode_one("bytes", "@" + path).error().code, ErrorCode::not_found);
}

TEST(Format, RefusesBlobsOfAnotherType) {
  const auto refused = [](std::string_view type, Bytes blob) {
    return !format_text(parse_type(type).value(), blob).has_value();
  };
  const auto number = encode_one("u32", "5").value();
  EXPECT_TRUE(refused("u64", number.view()));
  EXPECT_TRUE(refused("str", number.view()));
  const auto text = encode_one("str", "some words").value();
  EXPECT_TRUE(refused("opt<u8>", text.view()));
  EXPECT_TRUE(refused("str", text.view().first(text.size() - 1)));
  EXPECT_TRUE(refused("span<u64>", text.view()));
  const auto two = encode_one("u8", "2").value();
  EXPECT_TRUE(refused("bool", two.view()));
}

}  // namespace
}  // namespace godwit::code
