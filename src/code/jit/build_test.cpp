// Code made at run time: IR in, bitcode with a checked entry out.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "code/jit/jit_fixture.hpp"

namespace godwit::code::jit {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::unique_ptr<Library> build_or_fail(Jit& jit, const BuildRequest& request, std::string& entry) {
  auto built = jit.build(request);
  if (!built) throw std::runtime_error(built.error().message);
  entry = built->entry;
  auto library = try_load(jit, std::string(text_of(built->bitcode.view())), Tier::optimised);
  if (!library) throw std::runtime_error(library.error().message);
  return *std::move(library);
}

double as_double(const Answer& answer) {
  double value = 0;
  EXPECT_EQ(answer.status, GODWIT_OK);
  EXPECT_EQ(answer.bytes.size(), sizeof value);
  std::memcpy(&value, answer.bytes.data(), sizeof value);
  return value;
}

// Horner's scheme with the coefficients as constants.
std::string polynomial_ir(const std::vector<double>& coefficients) {
  std::string body = "define double @poly(double %x) {\n  %v0 = fadd double 0.0, 0.0\n";
  int step = 0;
  for (const double c : coefficients) {
    body += fmt::format("  %m{0} = fmul contract double %v{0}, %x\n", step);
    body += fmt::format("  %v{1} = fadd contract double %m{0}, {2:e}\n", step, step + 1, c);
    ++step;
  }
  return body + fmt::format("  ret double %v{}\n}}\n", step);
}

TEST(JitBuild, ASpecialisedPolynomialRuns) {
  auto jit = open_or_fail();
  const std::string ir = polynomial_ir({2, -3, 0.5, 7});
  std::string entry;
  const auto library = build_or_fail(
      *jit, {.ir = bytes_of(ir), .function = "poly", .signature = "(f64) -> f64"}, entry);
  EXPECT_EQ(entry, "godwit_entry_poly");
  const double x = 1.5;
  EXPECT_DOUBLE_EQ(as_double(call_blob(*library, entry, bytes_of_value(x))),
                   ((2 * x - 3) * x + 0.5) * x + 7);
}

constexpr std::string_view kSumIr = R"(
define double @scaled_sum(ptr %values, i64 %count, double %scale) {
entry:
  %empty = icmp eq i64 %count, 0
  br i1 %empty, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %total, %loop ]
  %at = getelementptr inbounds double, ptr %values, i64 %i
  %value = load double, ptr %at
  %scaled = fmul double %value, %scale
  %total = fadd double %sum, %scaled
  %next = add nuw i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  %result = phi double [ 0.0, %entry ], [ %total, %loop ]
  ret double %result
}
)";

struct SumArguments {
  std::uint64_t offset;
  std::uint64_t count;
  double scale;
  std::uint64_t padding;
  double values[4];
};

TEST(JitBuild, SpansAreReadInPlaceAndChecked) {
  auto jit = open_or_fail();
  std::string entry;
  const auto library = build_or_fail(
      *jit,
      {.ir = bytes_of(kSumIr), .function = "scaled_sum", .signature = "(span<f64>, f64) -> f64"},
      entry);
  alignas(16) SumArguments arguments{32, 4, 10, 0, {1, 2, 3, 4}};
  const auto call_sum = [&](std::size_t size) {
    return call_blob(*library, entry, bytes_of_value(arguments).first(size));
  };
  EXPECT_EQ(as_double(call_sum(sizeof arguments)), 100.0);
  arguments.count = 0;
  EXPECT_EQ(as_double(call_sum(sizeof arguments)), 0.0);

  for (const std::uint64_t count : {5ULL, 1ULL << 61, ~0ULL}) {
    arguments.count = count;
    EXPECT_EQ(call_sum(sizeof arguments).status, GODWIT_BAD_ARGS) << count;
  }
  arguments.count = 1;
  for (const std::uint64_t offset : {33ULL, 57ULL, 64ULL, 1ULL << 63, ~0ULL}) {
    arguments.offset = offset;
    EXPECT_EQ(call_sum(sizeof arguments).status, GODWIT_BAD_ARGS) << offset;
  }
  for (const std::size_t size : {0U, 8U, 23U}) {
    EXPECT_EQ(call_sum(size).status, GODWIT_BAD_ARGS) << size;
  }
}

TEST(JitBuild, StructsAndBooleansPass) {
  auto jit = open_or_fail();
  const std::string ir = R"(
define void @mirror(ptr sret([16 x i8]) %out, ptr %point, i1 zeroext %swap) {
  %ya = getelementptr i8, ptr %point, i64 8
  %x = load double, ptr %point
  %y = load double, ptr %ya
  %first = select i1 %swap, double %y, double %x
  %second = select i1 %swap, double %x, double %y
  %oa = getelementptr i8, ptr %out, i64 8
  store double %first, ptr %out
  store double %second, ptr %oa
  ret void
}
)";
  std::string entry;
  const auto library = build_or_fail(*jit,
                                     {.ir = bytes_of(ir),
                                      .function = "mirror",
                                      .signature = "(array<f64, 2>, bool) -> array<f64, 2>"},
                                     entry);
  struct {
    double x, y;
    std::uint64_t swap;
  } arguments{1, 2, 1};
  const Answer answer = call_blob(*library, entry, bytes_of_value(arguments).first(17));
  ASSERT_EQ(answer.bytes.size(), 16U);
  std::array<double, 2> point{};
  std::memcpy(point.data(), answer.bytes.data(), sizeof point);
  EXPECT_THAT(point, testing::ElementsAre(2.0, 1.0));
}

TEST(JitBuild, AThrowBecomesAnApplicationError) {
  auto jit = open_or_fail();
  const std::string ir = R"(
declare void @_ZSt20__throw_length_errorPKc(ptr)
@words = private constant [3 x i8] c"no\00"
define void @thrower() {
  call void @_ZSt20__throw_length_errorPKc(ptr @words)
  unreachable
}
)";
  std::string entry;
  const auto library = build_or_fail(
      *jit, {.ir = bytes_of(ir), .function = "thrower", .signature = "() -> unit"}, entry);
  const Answer answer = call_blob(*library, entry, {});
  EXPECT_EQ(answer.status, GODWIT_APP_ERROR);
  EXPECT_THAT(answer.bytes, HasSubstr("threw"));
}

TEST(JitBuild, DropsWhatTheFunctionDoesNotUse) {
  auto jit = open_or_fail();
  const std::string ir = R"(
declare void @godwit_no_such_function()
define void @unused() {
  call void @godwit_no_such_function()
  ret void
}
define i32 @one() {
  ret i32 1
}
)";
  std::string entry;
  const auto library =
      build_or_fail(*jit, {.ir = bytes_of(ir), .function = "one", .signature = "() -> i32"}, entry);
  EXPECT_NE(library, nullptr);
  EXPECT_EQ(library->entry("one"), nullptr) << "only the entry is visible";
}

TEST(JitBuild, AcceptsBitcode) {
  auto jit = open_or_fail();
  const std::string bitcode = test_bitcode("twin_1");
  std::string entry;
  const auto library = build_or_fail(
      *jit, {.ir = bytes_of(bitcode), .function = "helper", .signature = "() -> u64"}, entry);
  EXPECT_EQ(call(*library, entry).word(), 1U);
}

TEST(JitBuild, NamesBothSidesOfAMismatch) {
  auto jit = open_or_fail();
  const std::string ir = "define double @f(double %x, i32 %n) {\n ret double %x\n}\n";
  for (const std::string signature : {"(f64) -> f64", "(f64, i64) -> f64", "(f64, i32) -> f32",
                                      "(f64, i32) -> unit", "(span<f64>) -> f64"}) {
    const auto built = jit->build({.ir = bytes_of(ir), .function = "f", .signature = signature});
    ASSERT_FALSE(built) << signature;
    EXPECT_EQ(built.error().code, ErrorCode::type_mismatch);
    EXPECT_THAT(built.error().message, AllOf(HasSubstr(signature), HasSubstr("double, i32")));
  }
}

TEST(JitBuild, RefusesWhatCannotBeBuilt) {
  auto jit = open_or_fail();
  const std::string ir = "define void @f(ptr %x, i64 %n) {\n ret void\n}\n";
  const auto code = [&](std::string_view text, const std::string& function,
                        const std::string& signature) {
    return jit->build({.ir = bytes_of(text), .function = function, .signature = signature})
        .error()
        .code;
  };
  EXPECT_EQ(code(ir, "f", "(map<str, f64>) -> unit"), ErrorCode::invalid_argument);
  EXPECT_EQ(code(ir, "f", "(str) -> str"), ErrorCode::invalid_argument);
  EXPECT_EQ(code(ir, "f", "(str"), ErrorCode::bad_format);
  EXPECT_EQ(code(ir, "g", "(str) -> unit"), ErrorCode::unknown_function);
  EXPECT_EQ(code("define void @f( {", "f", "() -> unit"), ErrorCode::corrupt_code);
  EXPECT_EQ(code("target triple = \"aarch64-linux-gnu\"\ndefine void @f() {\n ret void\n}\n", "f",
                 "() -> unit"),
            ErrorCode::no_slice);
}

// LLVM answers these by ending the process, unless it is stopped.
TEST(JitBuild, SurvivesCodeThatLlvmCannotCompile) {
  const LeaksExpected leaks;
  auto jit = open_or_fail();
  const std::string assembly =
      "define void @f() {\n call void asm sideeffect \"no_such_instruction\", \"\"()\n ret "
      "void\n}\n";
  const std::string intrinsic = R"(
declare i64 @llvm.aarch64.mrs(i64)
declare <4 x i32> @llvm.aarch64.neon.sqdmull.v4i32(<4 x i16>, <4 x i16>)
define <4 x i32> @g(<4 x i16> %x) {
  %y = call <4 x i32> @llvm.aarch64.neon.sqdmull.v4i32(<4 x i16> %x, <4 x i16> %x)
  ret <4 x i32> %y
}
@keep = global ptr @g
define i64 @f() {
  %p = load ptr, ptr @keep
  %i = ptrtoint ptr %p to i64
  ret i64 %i
}
)";
  const std::pair<std::string, std::string> cases[] = {{assembly, "() -> unit"},
                                                       {intrinsic, "() -> u64"}};
  for (const auto& [ir, signature] : cases) {
    for (const Tier tier : {Tier::fast, Tier::optimised}) {
      const auto built = jit->build({.ir = bytes_of(ir), .function = "f", .signature = signature});
      ASSERT_TRUE(built) << built.error().message;
      const auto library = try_load(*jit, std::string(text_of(built->bitcode.view())), tier);
      ASSERT_FALSE(library);
      EXPECT_EQ(library.error().code, ErrorCode::compile_failed) << library.error().message;
    }
  }
  EXPECT_EQ(call(*load_or_fail(*jit, "add", Tier::fast), "add", 1, 2).word(), 3U);
}

}  // namespace
}  // namespace godwit::code::jit
