#include "godwit/codec.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <random>

#include "base/bytes.hpp"
#include "base/seeds_for_test.hpp"
#include "code/types/samples_test.hpp"

namespace godwit {
namespace {

// The parts joined, 64-byte aligned.
template <class E>
Buffer joined(const E& encoder) {
  EXPECT_TRUE(encoder.ok());
  Buffer blob = Buffer::allocate(encoder.size());
  std::size_t at = 0;
  for (const auto part : encoder.parts()) {
    std::memcpy(blob.data() + at, part.data(), part.size());
    at += part.size();
  }
  EXPECT_EQ(at, encoder.size());
  return blob;
}

template <class... Params>
Buffer encoded(const Params&... values) {
  alignas(16) std::byte scratch[256];
  return joined(Encoder<Params...>(scratch, values...));
}

template <class... Params>
void expect_round_trip(const Params&... values) {
  const Buffer blob = encoded(values...);
  std::tuple<Params...> back;
  DecodeError error;
  ASSERT_TRUE(decode(blob.view(), back, error)) << error.what << " in " << error.argument;
  EXPECT_EQ(back, std::tuple<Params...>(values...));
}

TEST(Codec, GivesEveryScalarBack) {
  expect_round_trip(true, std::int8_t{-128}, std::uint8_t{255}, std::int16_t{-300},
                    std::uint16_t{65535}, std::int32_t{-70000}, std::uint32_t{4000000000},
                    std::numeric_limits<std::int64_t>::min(), ~std::uint64_t{0}, 1.5F, -2.25,
                    std::byte{7});
}

TEST(Codec, GivesPlainStructsAndArraysBack) {
  expect_round_trip(sample::Particle{{1, -2}, 77, true, {3, -4}}, std::uint8_t{1},
                    sample::Wide{{1, 2, 3, 4}}, std::array<std::uint16_t, 3>{1, 2, 3});
}

TEST(Codec, GivesTextAndListsBack) {
  expect_round_trip(std::string("hello"), std::string(), std::vector<double>{1, 2, 3},
                    std::vector<sample::Particle>(3), std::vector<std::byte>(5, std::byte{9}),
                    std::vector<std::string>{"a", "", std::string(70000, 'z')},
                    std::vector<std::vector<std::int32_t>>{{1}, {}, {-2, 3}});
}

TEST(Codec, GivesPackedValuesBack) {
  expect_round_trip(
      std::optional<double>{}, std::optional<double>{2.5},
      std::map<std::string, std::vector<float>>{{"x", {1, 2}}, {"", {}}},
      std::unordered_map<std::int32_t, bool>{{-1, true}, {5, false}},
      std::tuple<std::string, std::int8_t>{"t", -9}, std::pair<bool, std::string>{true, "p"},
      std::array<std::string, 2>{"one", "two"}, sample::full_report(), sample::Report{});
}

TEST(Codec, EncodesNothingAsAnEmptyBlob) {
  EXPECT_EQ(encoded().size(), 0U);
  std::tuple<> none;
  DecodeError error;
  EXPECT_TRUE(decode({}, none, error));
}

// Kept for ever: these bytes are the specification's example.
TEST(Codec, WritesTheBytesOfTheSpecification) {
  const Buffer blob = encoded(std::uint8_t{5}, std::vector<std::uint16_t>{1, 2}, std::string("hi"));
  const std::uint8_t expected[] = {
      5,   0,  0, 0, 0, 0, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0,  // head: u8, {48, 2},
      2,   0,  0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0,  // {64, 2}
      2,   0,  0, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0,  // padding to 16
      1,   0,  2, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0,  // list<u16>
      'h', 'i'};
  ASSERT_EQ(blob.size(), sizeof expected);
  EXPECT_EQ(std::memcmp(blob.data(), expected, sizeof expected), 0);
}

TEST(Codec, DecodesSpansAndViewsInPlace) {
  const std::vector<double> numbers = {1, 2, 3};
  const Buffer blob = encoded(numbers, std::string("text"));
  std::tuple<std::span<const double>, std::string_view> views;
  DecodeError error;
  ASSERT_TRUE(decode(blob.view(), views, error));
  const auto inside = [&](const void* at) {
    return at >= blob.data() && at < blob.data() + blob.size();
  };
  EXPECT_TRUE(inside(std::get<0>(views).data()));
  EXPECT_TRUE(inside(std::get<1>(views).data()));
  EXPECT_EQ(std::get<0>(views)[2], 3);
  EXPECT_EQ(std::get<1>(views), "text");
}

TEST(Encoder, BorrowsWhatIsLargeAndCopiesWhatIsSmall) {
  const std::vector<std::uint8_t> small(kBorrowBytes, 1);
  const std::vector<std::uint8_t> large(kBorrowBytes + 1, 2);
  std::vector<std::byte> scratch(2 * kBorrowBytes);
  const EncoderFor<std::vector<std::uint8_t>, std::vector<std::uint8_t>, std::uint32_t,
                   std::vector<std::uint8_t>, std::string>
      encoder(scratch, small, large, 7U, large, "tail");
  ASSERT_EQ(encoder.parts().size(), 5U);
  EXPECT_EQ(static_cast<const void*>(encoder.parts()[1].data()), large.data());
  EXPECT_EQ(static_cast<const void*>(encoder.parts()[3].data()), large.data());
  EXPECT_EQ(encoder.parts()[0].data(), scratch.data());

  const Buffer blob = joined(encoder);
  std::tuple<std::vector<std::uint8_t>, std::vector<std::uint8_t>, std::uint32_t,
             std::vector<std::uint8_t>, std::string>
      back;
  DecodeError error;
  ASSERT_TRUE(decode(blob.view(), back, error)) << error.what;
  EXPECT_EQ(back, std::tuple(small, large, 7U, large, std::string("tail")));
}

TEST(Encoder, SpillsToItsOwnMemoryWhenTheScratchIsTooSmall) {
  for (std::size_t room = 0; room < 200; ++room) {
    std::vector<std::byte> scratch(room);
    const Encoder<std::string, sample::Report, std::uint8_t> encoder(
        scratch, std::string(50, 'x'), sample::full_report(), std::uint8_t{3});
    const Buffer blob = joined(encoder);
    std::tuple<std::string, sample::Report, std::uint8_t> back;
    DecodeError error;
    ASSERT_TRUE(decode(blob.view(), back, error)) << room;
    EXPECT_EQ(std::get<1>(back), sample::full_report());
  }
}

Buffer with_descriptor(std::uint64_t offset, std::uint64_t count, std::size_t size) {
  Buffer blob = Buffer::allocate(size);
  std::memset(blob.data(), 0, size);
  const Descriptor where{.offset = offset, .count = count};
  std::memcpy(blob.data(), &where, sizeof where);
  return blob;
}

template <class T>
bool accepts(Bytes blob) {
  std::tuple<T> value;
  DecodeError error;
  const bool ok = decode(blob, value, error);
  EXPECT_TRUE(ok || std::strlen(error.what) > 0);
  return ok;
}

TEST(Decoder, ChecksEveryDescriptor) {
  using Doubles = std::span<const double>;
  EXPECT_TRUE(accepts<Doubles>(with_descriptor(16, 2, 32).view()));
  EXPECT_TRUE(accepts<Doubles>(with_descriptor(0, 0, 16).view()));
  EXPECT_FALSE(accepts<Doubles>(with_descriptor(16, 3, 32).view()));
  EXPECT_FALSE(accepts<Doubles>(with_descriptor(16, 0, 32).view()));
  EXPECT_FALSE(accepts<Doubles>(with_descriptor(24, 1, 32).view()));
  EXPECT_FALSE(accepts<Doubles>(with_descriptor(8, 1, 32).view()));
  EXPECT_FALSE(accepts<Doubles>(with_descriptor(48, 1, 32).view()));
  EXPECT_FALSE(accepts<Doubles>(with_descriptor(32, 1, 32).view()));
  const std::uint64_t huge = ~std::uint64_t{0};
  for (const std::uint64_t count :
       {huge, huge / 8, huge / 8 + 1, huge / 8 + 2, std::uint64_t{1} << 61}) {
    EXPECT_FALSE(accepts<Doubles>(with_descriptor(16, count, 32).view())) << count;
    EXPECT_FALSE(accepts<std::vector<double>>(with_descriptor(16, count, 32).view()));
    EXPECT_FALSE(accepts<std::string>(with_descriptor(16, count, 32).view()) && count > 16);
  }
  EXPECT_FALSE(accepts<Doubles>(with_descriptor(huge - 15, 1, 32).view()));
  EXPECT_FALSE(accepts<Doubles>(with_descriptor(huge - 15, 2, 32).view()));
}

TEST(Decoder, RefusesMemoryThatIsNotAligned) {
  Buffer memory = Buffer::allocate(64);
  const Buffer blob = with_descriptor(16, 1, 32);
  std::memcpy(memory.data() + 4, blob.data(), 32);
  EXPECT_FALSE(accepts<std::span<const double>>(memory.view().subspan(4, 32)));
  EXPECT_TRUE(accepts<std::span<const float>>(memory.view().subspan(4, 32)));
}

TEST(Decoder, RefusesBoolsThatAreNoBools) {
  Buffer blob = encoded(sample::Particle{{1, 2}, 3, true, {}});
  EXPECT_TRUE(accepts<sample::Particle>(blob.view()));
  blob.data()[offsetof(sample::Particle, alive)] = std::byte{2};
  EXPECT_FALSE(accepts<sample::Particle>(blob.view()));
  Buffer list = encoded(std::vector<sample::Particle>(2));
  EXPECT_TRUE(accepts<std::vector<sample::Particle>>(list.view()));
  list.data()[16 + sizeof(sample::Particle) + offsetof(sample::Particle, alive)] = std::byte{255};
  EXPECT_FALSE(accepts<std::vector<sample::Particle>>(list.view()));
}

TEST(Decoder, RefusesPackedValuesOfAnotherTypeOrWithBytesLeftOver) {
  EXPECT_FALSE(accepts<std::optional<std::string>>(encoded(std::optional<int>{5}).view()));
  EXPECT_FALSE((accepts<std::tuple<int, int>>(encoded(std::tuple<int>{5}).view())));
  EXPECT_FALSE(accepts<std::optional<std::uint8_t>>(encoded(std::optional<int>{256}).view()));
  Buffer blob = encoded(std::optional<int>{5});
  Buffer longer = Buffer::allocate(blob.size() + 1);
  std::memset(longer.data(), 0, longer.size());
  std::memcpy(longer.data(), blob.data(), blob.size());
  const Descriptor where{.offset = 16, .count = 2};
  std::memcpy(longer.data(), &where, sizeof where);
  EXPECT_FALSE(accepts<std::optional<int>>(longer.view()));
}

TEST(Decoder, NamesTheArgument) {
  Buffer blob = encoded(1, std::string("x"), std::string("y"));
  const Descriptor where{.offset = 4096, .count = 1};
  std::memcpy(blob.data() + 24, &where, sizeof where);
  std::tuple<int, std::string, std::string> values;
  DecodeError error;
  EXPECT_FALSE(decode(blob.view(), values, error));
  EXPECT_EQ(error.argument, 3U);
}

// Truncations and flips of a blob that has a bit of everything: the decoder may accept or refuse,
// but it must not read outside (AddressSanitizer watches: the copy has exactly the blob's size),
// and what it accepts must encode again.
TEST(Decoder, SurvivesTenThousandMutations) {
  using Values = std::tuple<std::uint32_t, std::string, std::vector<sample::Particle>,
                            sample::Report, std::map<std::int32_t, std::string>, bool>;
  const Values original{7,
                        "words",
                        std::vector<sample::Particle>(3),
                        sample::full_report(),
                        {{1, "one"}, {-2, "two"}},
                        true};
  const Buffer blob = std::apply([](const auto&... value) { return encoded(value...); }, original);
  const Seed seed(20240607);
  std::mt19937_64 random(seed.value());
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 10000; ++round) {
    const std::size_t size = random() % 4 == 0 ? random() % (blob.size() + 1) : blob.size();
    Buffer mutant = Buffer::copy_of(blob.view().first(size));
    for (std::uint64_t flips = random() % 4; size > 0 && flips > 0; --flips) {
      const std::byte value =
          random() % 2 == 0 ? std::byte{0xff} : static_cast<std::byte>(random());
      mutant.data()[random() % size] = value;
    }
    Values values;
    DecodeError error;
    if (decode(mutant.view(), values, error)) {
      ++accepted;
      std::apply([](const auto&... value) { (void)encoded(value...); }, values);
    } else {
      ++refused;
      EXPECT_STRNE(error.what, "");
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace godwit
