// The warm path allocates nothing: arguments that are plain, or short, go through the scratch.
#include <gtest/gtest.h>

#include "base/allocation_count.hpp"
#include "code/types/samples_test.hpp"
#include "godwit/codec.hpp"

namespace godwit {
namespace {

TEST(CodecAllocations, AreZeroForPlainAndShortArguments) {
  const double numbers[] = {1, 2, 3};
  const sample::Particle particle{{1, 2}, 3, true, {4, 5}};
  alignas(16) std::byte scratch[512];
  alignas(16) std::byte blob[512];
  std::tuple<std::span<const double>, sample::Particle, std::string_view, std::uint32_t,
             std::tuple<bool, std::string_view>>
      values;
  DecodeError error;

  const std::uint64_t before = allocation_count();
  const EncoderFor<std::span<const double>, sample::Particle, std::string, std::uint32_t,
                   std::tuple<bool, std::string_view>>
      encoder(scratch, numbers, particle, "a name", 9U, {true, "packed"});
  std::memcpy(blob, encoder.parts()[0].data(), encoder.size());
  const bool ok = decode({blob, encoder.size()}, values, error);
  const std::uint64_t after = allocation_count();

  EXPECT_EQ(after - before, 0U);
  EXPECT_TRUE(ok);
  EXPECT_EQ(encoder.parts().size(), 1U);
  EXPECT_EQ(std::get<1>(values), particle);
  EXPECT_EQ(std::get<2>(values), "a name");
}

TEST(CodecAllocations, AreZeroForALargeSpan) {
  const std::vector<double> numbers(100000, 1.0);
  alignas(16) std::byte scratch[64];
  const std::uint64_t before = allocation_count();
  const EncoderFor<std::span<const double>> encoder(scratch, numbers);
  const std::uint64_t after = allocation_count();
  EXPECT_EQ(after - before, 0U);
  EXPECT_TRUE(encoder.ok());
}

// So that the counter is known to count.
TEST(CodecAllocations, AreCountedWhenTheScratchIsTooSmall) {
  if (!counts_allocations) GTEST_SKIP() << "a sanitizer has replaced operator new";
  const std::uint64_t before = allocation_count();
  const EncoderFor<std::uint64_t> encoder({}, 7U);
  EXPECT_EQ(allocation_count() - before, 1U);
  EXPECT_TRUE(encoder.ok());
}

}  // namespace
}  // namespace godwit
