// The warm path allocates nothing: arguments that are plain, or short, go through the scratch.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "code/types/samples_test.hpp"
#include "godwit/codec.hpp"

namespace {
std::atomic<long> g_allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++g_allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

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

  const long before = g_allocations;
  const EncoderFor<std::span<const double>, sample::Particle, std::string, std::uint32_t,
                   std::tuple<bool, std::string_view>>
      encoder(scratch, numbers, particle, "a name", 9U, {true, "packed"});
  std::memcpy(blob, encoder.parts()[0].data(), encoder.size());
  const bool ok = decode({blob, encoder.size()}, values, error);
  const long after = g_allocations;

  EXPECT_EQ(after - before, 0);
  EXPECT_TRUE(ok);
  EXPECT_EQ(encoder.parts().size(), 1U);
  EXPECT_EQ(std::get<1>(values), particle);
  EXPECT_EQ(std::get<2>(values), "a name");
}

TEST(CodecAllocations, AreZeroForALargeSpan) {
  const std::vector<double> numbers(100000, 1.0);
  alignas(16) std::byte scratch[64];
  const long before = g_allocations;
  const EncoderFor<std::span<const double>> encoder(scratch, numbers);
  const long after = g_allocations;
  EXPECT_EQ(after - before, 0);
  EXPECT_TRUE(encoder.ok());
}

// So that the counter is known to count.
TEST(CodecAllocations, AreCountedWhenTheScratchIsTooSmall) {
  const long before = g_allocations;
  const EncoderFor<std::uint64_t> encoder({}, 7U);
  EXPECT_EQ(g_allocations - before, 1);
  EXPECT_TRUE(encoder.ok());
}

}  // namespace
}  // namespace godwit
