#include "code/types/type.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace godwit::code {
namespace {

using ::testing::HasSubstr;

TEST(TypeParser, GivesEveryCanonicalStringBack) {
  for (const char* text : {"bool",
                           "i8",
                           "i16",
                           "i32",
                           "i64",
                           "u8",
                           "u16",
                           "u32",
                           "u64",
                           "f32",
                           "f64",
                           "unit",
                           "str",
                           "bytes",
                           "span<f64>",
                           "list<str>",
                           "array<u8, 32>",
                           "array<str, 2>",
                           "map<i32, bytes>",
                           "opt<list<f32>>",
                           "tuple<bool, str, f64>",
                           "ref<list<f64>>",
                           "struct P{x: f64 @0, y: u8 @8; size 16 align 8}",
                           "struct Q{name: str, n: u32}",
                           "span<struct W{v: array<f32, 4> @0; size 16 align 16}>"}) {
    const auto type = parse_type(text);
    ASSERT_TRUE(type.has_value()) << type.error().message;
    EXPECT_EQ(type->text(), text);
    EXPECT_EQ(parse_type(type->text()).value(), *type);
  }
}

TEST(TypeParser, KnowsSizeAndAlignmentOfPlainTypes) {
  const Type type =
      parse_type("struct P{x: f64 @0, n: array<u16, 3> @8, on: bool @14; size 16 align 8}").value();
  EXPECT_TRUE(type.plain);
  EXPECT_EQ(type.size, 16U);
  EXPECT_EQ(type.align, 8U);
  EXPECT_EQ(type.items[1].size, 6U);
  EXPECT_EQ(type.items[1].align, 2U);
  const Type handle = parse_type("ref<map<str, u8>>").value();
  EXPECT_TRUE(handle.plain);
  EXPECT_EQ(handle.size, 64U);
  EXPECT_EQ(handle.align, 8U);
  EXPECT_TRUE(parse_type("struct P{r: ref<str> @0; size 64 align 8}").value().plain);
  EXPECT_TRUE(parse_type("list<ref<str>>").value().is_raw());
  EXPECT_FALSE(parse_type("tuple<i32>").value().plain);
  EXPECT_FALSE(parse_type("array<str, 3>").value().plain);
}

TEST(TypeParser, SaysWhichObjectsMayStandForAParameter) {
  const auto stands = [](const char* type) { return object_type_for(parse_type(type).value()); };
  EXPECT_EQ(stands("span<f64>"), "list<f64>");
  EXPECT_EQ(stands("list<f64>"), "list<f64>");
  EXPECT_EQ(stands("bytes"), "bytes");
  EXPECT_EQ(stands("str"), "str");
  EXPECT_EQ(stands("list<str>"), "");
  EXPECT_EQ(stands("u64"), "");
}

TEST(TypeParser, RejectsEveryOtherSpelling) {
  for (const char* text : {"",
                           " ",
                           "u64 ",
                           " u64",
                           "U64",
                           "u65",
                           "int",
                           "span<f64",
                           "span<f64>>",
                           "span< f64>",
                           "list<>",
                           "list<u8,u8>",
                           "list<u8, u8>",
                           "tuple<>",
                           "tuple<i32,f64>",
                           "array<u8>",
                           "array<u8, 0>",
                           "array<u8, 01>",
                           "array<u8, -1>",
                           "array<u8, 99999999999999999999>",
                           "array<f64, 1000000000>",
                           "map<str>",
                           "map<f64, u8>",
                           "map<list<u8>, u8>",
                           "map<str, u8, u8>",
                           "opt<opt<u8>>",
                           "opt<unit>",
                           "list<unit>",
                           "list<span<u8>>",
                           "span<str>",
                           "span<span<u8>>",
                           "struct",
                           "struct {x: u8 @0; size 1 align 1}",
                           "struct P{}",
                           "struct P{x: u8}",
                           "struct P{x: str @0; size 8 align 8}",
                           "struct P{x: str, x: str}",
                           "struct P{x: u8 @0, y: str}",
                           "struct P{x: u8 @0}",
                           "struct P{x: u8 @0; size 1 align 3}",
                           "struct P{x: u8 @0; size 1 align 32}",
                           "struct P{x: u64 @4; size 16 align 8}",
                           "struct P{x: u64 @0; size 8 align 4}",
                           "struct P{x: u32 @0, y: u32 @2; size 8 align 4}",
                           "struct P{x: u64 @0; size 4 align 4}",
                           "struct P{x: u8 @0; size 3 align 2}",
                           "struct 1P{x: str}",
                           "struct P{1: str}",
                           "struct P{x: u8 @0; size 1 align 1"}) {
    const auto type = parse_type(text);
    EXPECT_FALSE(type.has_value()) << "'" << text << "' was accepted";
    EXPECT_TRUE(type.has_value() || type.error().code == ErrorCode::bad_format);
  }
}

TEST(TypeParser, SaysWhereAndWhatItExpected) {
  const auto type = parse_type("map<str, >");
  ASSERT_FALSE(type.has_value());
  EXPECT_THAT(type.error().message, HasSubstr("expected a type at character 10"));
  EXPECT_THAT(type.error().message, HasSubstr("map<str, >"));
}

TEST(TypeParser, BoundsDepthItemsAndLength) {
  const auto nested = [](std::size_t depth) {
    std::string text;
    for (std::size_t i = 1; i < depth; ++i) text += "list<";
    text += "u8";
    return text + std::string(depth - 1, '>');
  };
  EXPECT_TRUE(parse_type(nested(kTypeDepthLimit)).has_value());
  EXPECT_FALSE(parse_type(nested(kTypeDepthLimit + 1)).has_value());
  EXPECT_FALSE(parse_type(nested(1000)).has_value());

  const auto tuple = [](std::size_t items) {
    std::string text = "tuple<u8";
    for (std::size_t i = 1; i < items; ++i) text += ", u8";
    return text + ">";
  };
  EXPECT_TRUE(parse_type(tuple(kTypeItemLimit)).has_value());
  EXPECT_FALSE(parse_type(tuple(kTypeItemLimit + 1)).has_value());

  const auto named = [](std::size_t length) {
    return "struct " + std::string(length - 16, 'a') + "{x: str}";
  };
  EXPECT_TRUE(parse_type(named(kTypeTextLimit)).has_value());
  EXPECT_FALSE(parse_type(named(kTypeTextLimit + 2)).has_value());
}

TEST(SignatureParser, GivesParametersAndResult) {
  const auto signature = parse_signature("(span<f64>, u32) -> list<str>");
  ASSERT_TRUE(signature.has_value()) << signature.error().message;
  ASSERT_EQ(signature->parameters.size(), 2U);
  EXPECT_EQ(signature->parameters[0].kind, TypeKind::span);
  EXPECT_EQ(signature->result.text(), "list<str>");
  EXPECT_EQ(signature->text(), "(span<f64>, u32) -> list<str>");
  EXPECT_EQ(parse_signature("() -> unit").value().text(), "() -> unit");
}

TEST(SignatureParser, RejectsWhatIsNoSignature) {
  for (const char* text : {"", "()", "() ->", "() -> ", "()->unit", "(unit) -> unit", "(u8,) -> u8",
                           "(u8, ) -> u8", "u8 -> u8", "() -> unit ", "() -> unit>", "(u8 -> u8"}) {
    EXPECT_FALSE(parse_signature(text).has_value()) << "'" << text << "' was accepted";
  }
}

TEST(HeadLayout, PutsPlainValuesByMemoryAndOthersByDescriptor) {
  const auto signature = parse_signature("(u8, f64, str, u16, opt<u8>) -> unit").value();
  const HeadLayout layout = head_layout(signature.parameters);
  const std::uint64_t offsets[] = {0, 8, 16, 32, 40};
  const std::uint64_t sizes[] = {1, 8, 16, 2, 16};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(layout.slots[i].offset, offsets[i]);
    EXPECT_EQ(layout.slots[i].size, sizes[i]);
  }
  EXPECT_EQ(layout.size, 56U);
  EXPECT_EQ(result_layout(signature.result).size, 0U);
  EXPECT_EQ(result_layout(parse_type("u32").value()).size, 4U);
}

// Kept for ever: other languages compute the same number.
TEST(TypeHash, IsThePrefixOfTheContentHash) {
  EXPECT_EQ(type_hash("f64"), 0x408cef758539ed5eU);
  EXPECT_NE(type_hash("f64"), type_hash("f32"));
}

}  // namespace
}  // namespace godwit::code
