// The compile-time side: canonical strings of C++ types.
#include "godwit/types.hpp"

#include <gtest/gtest.h>

#include <unordered_map>

#include "code/types/samples_test.hpp"
#include "code/types/type.hpp"
#include "godwit/codec.hpp"
#include "godwit/mobile.hpp"

namespace godwit {
namespace {

template <class T>
constexpr bool is(std::string_view text) {
  return type_name<T>.view() == text;
}

static_assert(is<bool>("bool") && is<float>("f32") && is<double>("f64"));
static_assert(is<std::int8_t>("i8") && is<std::int16_t>("i16") && is<std::int32_t>("i32"));
static_assert(is<long>("i64") && is<long long>("i64") && is<unsigned long long>("u64"));
static_assert(is<std::uint8_t>("u8") && is<std::uint16_t>("u16") && is<std::uint32_t>("u32"));
static_assert(is<std::byte>("u8") && is<void>("unit"));
static_assert(is<std::string>("str") && is<std::string_view>("str"));
static_assert(is<std::vector<std::byte>>("bytes") && is<std::span<const std::byte>>("bytes"));
static_assert(is<std::span<const double>>("span<f64>") && is<std::vector<double>>("list<f64>"));
static_assert(is<std::array<std::int32_t, 12>>("array<i32, 12>"));
static_assert(is<std::array<std::array<bool, 2>, 3>>("array<array<bool, 2>, 3>"));
static_assert(is<std::map<std::string, int>>("map<str, i32>"));
static_assert(is<std::unordered_map<std::uint64_t, std::vector<int>>>("map<u64, list<i32>>"));
static_assert(is<std::optional<std::string>>("opt<str>"));
static_assert(is<std::tuple<int, std::string>>("tuple<i32, str>"));
static_assert(is<std::pair<int, double>>("tuple<i32, f64>") && is<std::tuple<float>>("tuple<f32>"));
static_assert(is<sample::Point>("struct Point{x: f64 @0, y: f64 @8; size 16 align 8}"));
static_assert(is<sample::Particle>(
    "struct Particle{at: struct Point{x: f64 @0, y: f64 @8; size 16 align 8} @0, id: u32 @16, "
    "alive: bool @20, spin: array<i16, 2> @22; size 32 align 8}"));
static_assert(is<sample::Wide>("struct Wide{lanes: array<f32, 4> @0; size 16 align 16}"));
static_assert(is<sample::Report>(
    "struct Report{title: str, path: list<struct Point{x: f64 @0, y: f64 @8; size 16 align 8}>, "
    "counts: map<str, i64>, mean: opt<f64>, flags: tuple<bool, u8>, raw: bytes}"));
static_assert(is<HandleOf<double[]>>("ref<list<f64>>") && is<HandleOf<float>>("ref<f32>"));
static_assert(is<HandleOf<std::byte[]>>("ref<bytes>") && is<HandleOf<std::string>>("ref<str>"));
static_assert(is<HandleOf<std::vector<std::string>>>("ref<list<str>>"));
static_assert(kPlain<HandleOf<std::string>> && is<std::vector<HandleOf<bool>>>("list<ref<bool>>"));
static_assert(is<Node>("struct Node{id: u64 @0; size 8 align 8}"));

template <class Function>
constexpr bool signed_as(std::string_view text) {
  return signature_of<Function>.view() == text;
}
static_assert(signed_as<void()>("() -> unit"));
static_assert(signed_as<double(std::span<const double>, std::uint32_t)>("(span<f64>, u32) -> f64"));
static_assert(signed_as<double(Here&, const std::string&, const int)>("(str, i32) -> f64"));
static_assert(signed_as<Next<std::uint64_t>(Here&, std::uint64_t)>("(u64) -> u64"));
static_assert(signed_as<Next<void>(Here&)>("() -> unit"));
static_assert(signed_as<int (*)(bool) noexcept>("(bool) -> i32"));

struct Many {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, a2, b2, c2, d2, e2, f2, g2, h2, i2, j2, k2,
      l2, m2, n2, o2, p2;
};
GODWIT_STRUCT(Many, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, a2, b2, c2, d2, e2, f2, g2, h2,
              i2, j2, k2, l2, m2, n2, o2, p2);

TEST(TypeName, SpellsAStructOfAsManyFieldsAsThereMayBe) {
  EXPECT_EQ(std::tuple_size_v<decltype(describe<Many>().fields)>, kItemLimit);
  EXPECT_TRUE(code::parse_type(type_name<Many>).has_value());
}

// The two sides of the system, C++ types and parsed strings, must never disagree on a layout.
template <class... Params>
void expect_same_head() {
  const auto signature = code::parse_signature(signature_of<void(Params...)>);
  ASSERT_TRUE(signature.has_value()) << signature.error().message;
  EXPECT_EQ(signature->text(), signature_of<void(Params...)>.view());
  const code::HeadLayout layout = code::head_layout(signature->parameters);
  ASSERT_EQ(layout.slots.size(), sizeof...(Params));
  EXPECT_EQ(layout.size, (BlobHead<Params...>::kSize));
  for (std::size_t i = 0; i < sizeof...(Params); ++i) {
    EXPECT_EQ(layout.slots[i].offset, BlobHead<Params...>::offset(i)) << "parameter " << i;
  }
}

TEST(BlobHead, IsTheSameForCppTypesAndForParsedSignatures) {
  expect_same_head<>();
  expect_same_head<bool, double, std::uint16_t, std::string, std::uint8_t>();
  expect_same_head<std::uint8_t, sample::Wide, bool, sample::Particle, sample::Report>();
  expect_same_head<std::array<std::uint16_t, 3>, std::span<const double>, float>();
}

}  // namespace
}  // namespace godwit
