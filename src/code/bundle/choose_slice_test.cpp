#include "code/bundle/choose_slice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "code/bundle/bundle_for_test.hpp"

namespace godwit::code {
namespace {

using testing::HasSubstr;

TEST(ChooseSlice, PrefersNativeCodeOfTheMachine) {
  const Bundle bundle = sample_bundle();
  const auto slice =
      choose_slice(bundle, {.machine = Machine::x86_64, .has_jit = true, .llvm_major = 19});
  ASSERT_TRUE(slice);
  EXPECT_EQ(*slice, &bundle.slices()[0]);
}

Bundle bitcode_only(std::uint16_t llvm_major) {
  SliceInfo info = sample_slice(SliceKind::bitcode, Machine::x86_64);
  info.llvm_major = llvm_major;
  BundleBuilder builder("b");
  builder.function(sample_function("f")).slice(info, Buffer::copy_of(bytes_of("bitcode")));
  return std::move(builder).build().value();
}

TEST(ChooseSlice, TakesBitcodeThatTheJitCanRead) {
  const Bundle bundle = bitcode_only(19);
  for (const std::uint16_t reader : {std::uint16_t{19}, std::uint16_t{20}}) {
    const auto slice =
        choose_slice(bundle, {.machine = Machine::x86_64, .has_jit = true, .llvm_major = reader});
    ASSERT_TRUE(slice);
    EXPECT_EQ((*slice)->kind, SliceKind::bitcode);
  }
}

TEST(ChooseSlice, SaysWhatIsOfferedAndWhatTheTargetIs) {
  const Bundle bundle = bitcode_only(19);
  const auto too_old =
      choose_slice(bundle, {.machine = Machine::x86_64, .has_jit = true, .llvm_major = 18});
  ASSERT_FALSE(too_old);
  EXPECT_EQ(too_old.error().code, ErrorCode::no_slice);
  EXPECT_THAT(too_old.error().message, HasSubstr("JIT of LLVM 18"));
  EXPECT_THAT(too_old.error().message, HasSubstr("bitcode x86_64-linux-gnu (LLVM 19)"));

  const auto no_jit = choose_slice(bundle, {.machine = Machine::x86_64});
  ASSERT_FALSE(no_jit);
  EXPECT_THAT(no_jit.error().message, HasSubstr("no JIT"));

  const auto other =
      choose_slice(bundle, {.machine = Machine::aarch64, .has_jit = true, .llvm_major = 19});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("--target aarch64"));
}

TEST(Target, NamesOfMachinesReadBack) {
  for (const Machine machine : {Machine::x86_64, Machine::aarch64}) {
    EXPECT_EQ(parse_machine(to_string(machine)), machine);
    EXPECT_EQ(parse_machine(triple_of(machine)), machine);
  }
  EXPECT_EQ(parse_machine("sparc"), std::nullopt);
}

}  // namespace
}  // namespace godwit::code
