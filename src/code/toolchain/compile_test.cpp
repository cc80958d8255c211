#include "code/toolchain/compile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "code/toolchain/compile_for_test.hpp"

namespace godwit::code {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kNorm = R"(
#include <godwit/mobile.hpp>
double norm(godwit::Here&, std::span<const double> x) {
  double sum = 0;
  for (double v : x) sum += v * v;
  return sum;
}
GODWIT_EXPORT(norm, inline_);
)";

TEST(Compile, MakesEverySliceOfEveryTarget) {
  const SourceTree tree;
  const auto bundle = compile({.sources = {tree.write("kernels.cpp", kNorm)}});
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(bundle->name(), "kernels");
  ASSERT_EQ(bundle->functions().size(), 1U);
  EXPECT_EQ(bundle->functions()[0].name, "norm");
  EXPECT_EQ(bundle->functions()[0].signature, "(span<f64>) -> f64");
  EXPECT_TRUE(bundle->functions()[0].is_inline());
  ASSERT_EQ(bundle->slices().size(), 4U);
  for (const SliceInfo& slice : bundle->slices()) {
    EXPECT_FALSE(slice.stateful()) << to_string(slice.kind) << ' ' << slice.triple;
    EXPECT_FALSE(slice.traits.may_start_threads);
    EXPECT_LT(slice.size_bytes, 20000U);
    EXPECT_THAT(slice.producer, HasSubstr("clang "));
    EXPECT_EQ(slice.kind == SliceKind::bitcode, slice.llvm_major != 0);
  }
  EXPECT_TRUE(Bundle::parse(bundle->to_bytes().value()));
}

TEST(Compile, SameSourcesInAnotherDirectoryGiveTheSameBundle) {
  const SourceTree here;
  const SourceTree elsewhere;
  const std::string text = entry_text("f", "return __FILE__[0] + (int64_t)strlen(__FILE__);");
  for (const bool debug_info : {false, true}) {
    const auto build = [&](const SourceTree& tree) {
      return compile({.sources = {tree.write("code.c", text)}, .debug_info = debug_info});
    };
    const auto first = build(here);
    const auto second = build(elsewhere);
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_TRUE(second);
    for (std::size_t i = 0; i < first->slices().size(); ++i) {
      EXPECT_EQ(first->slices()[i].id, second->slices()[i].id)
          << to_string(first->slices()[i].kind) << ' ' << first->slices()[i].triple << " debug "
          << debug_info;
    }
    EXPECT_EQ(first->id(), second->id());
  }
}

TEST(Compile, MergesSeveralSourcesInOrder) {
  const SourceTree tree;
  auto request = native_request(
      {tree.write("b.cpp", "extern \"C\" long long shared_part();\n" +
                               entry_text("second", "return shared_part();")),
       tree.write("a.c", entry_text("first", "return 1;") +
                             "__attribute__((visibility(\"hidden\"))) long long shared_part(void) "
                             "{ return 2; }\n")});
  request.kinds = {SliceKind::native, SliceKind::bitcode};
  const auto bundle = compile(request);
  ASSERT_TRUE(bundle) << bundle.error().message;
  ASSERT_EQ(bundle->functions().size(), 2U);
  EXPECT_EQ(bundle->functions()[0].name, "second");
  EXPECT_EQ(bundle->functions()[1].name, "first");
  for (const SliceInfo& slice : bundle->slices()) {
    EXPECT_THAT(slice.traits.imports, Not(Contains("shared_part")));
  }
}

// How often clang reads the source when a bundle of both kinds is made for one machine.
std::ptrdiff_t reads_of_source(unsigned optimisation_level, std::vector<std::string> flags) {
  const SourceTree tree;
  auto request = native_request({tree.write("kernels.cpp", kNorm)});
  request.kinds = {SliceKind::native, SliceKind::bitcode};
  request.optimisation_level = optimisation_level;
  request.flags = std::move(flags);
  std::vector<std::string> commands;
  request.on_command = [&](std::string_view command) { commands.emplace_back(command); };
  const auto bundle = compile(request);
  EXPECT_TRUE(bundle) << bundle.error().message;
  return std::count_if(commands.begin(), commands.end(), [](const std::string& command) {
    return command.find("kernels.cpp") != std::string::npos;
  });
}

TEST(Compile, ReadsASourceOnceWhereNativeCodeCanBeMadeOfBitcode) {
  EXPECT_EQ(reads_of_source(2, {}), 1);
  EXPECT_EQ(reads_of_source(0, {}), 2);
  EXPECT_EQ(reads_of_source(2, {"-DFLAGS_MAY_BE_ABOUT_THE_SOURCE"}), 2);
}

TEST(Compile, BitcodeAloneStillKnowsItsFunctions) {
  const SourceTree tree;
  const auto bundle = compile({.sources = {tree.write("kernels.cpp", kNorm)},
                               .targets = {host_machine()},
                               .kinds = {SliceKind::bitcode}});
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_TRUE(bundle->find("norm"));
  EXPECT_EQ(text_of(bundle->slices()[0].bytes).substr(0, 2), "BC");
}

TEST(Compile, UsesIncludeDirectoriesDefinesAndFlags) {
  const SourceTree tree;
  const SourceTree headers;
  headers.write("answer.h", "#define ANSWER (BASE + EXTRA)\n");
  auto request = native_request(
      {tree.write("code.c", "#include <answer.h>\n_Static_assert(ANSWER == 42, \"\");\n" +
                                entry_text("f", "return ANSWER;"))});
  request.include_dirs = {headers.path()};
  request.defines = {"BASE=40"};
  request.flags = {"-DEXTRA=2"};
  const auto bundle = compile(request);
  EXPECT_TRUE(bundle) << bundle.error().message;
}

TEST(Compile, ErrorsCarryTheCompilersWords) {
  const auto bundle = compile_text("int f( { return undeclared_thing; }\n");
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.error().code, ErrorCode::compile_failed);
  EXPECT_THAT(bundle.error().message, AllOf(HasSubstr("code.cpp"), HasSubstr("error:")));
}

TEST(Compile, WarningsAreShownOnce) {
  const SourceTree tree;
  std::string warnings;
  CompileRequest request{
      .sources = {tree.write("code.c", "#warning look here\n" + entry_text("f", "return 1;"))}};
  request.on_warning = [&](std::string_view text) { warnings += text; };
  ASSERT_TRUE(compile(request));
  const std::size_t first = warnings.find("look here");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(warnings.find("warning: look here", first + 9), std::string::npos) << warnings;
}

TEST(Compile, UndefinedFunctionsAreFoundAtBuildTime) {
  const auto bundle =
      compile_text("extern \"C\" long long nowhere();\n" + entry_text("f", "return nowhere();"));
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.error().code, ErrorCode::compile_failed);
  EXPECT_THAT(bundle.error().message, HasSubstr("nowhere"));
}

TEST(Compile, SourcesWithoutExportsSayWhatToAdd) {
  const auto bundle = compile_text("int f() { return 1; }\n");
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(bundle.error().message, HasSubstr("GODWIT_EXPORT"));
}

TEST(Compile, TwoExportsOfOneNameNameBothSources) {
  const SourceTree tree;
  const auto bundle = compile(native_request({tree.write("a.c", entry_text("f", "return 1;")),
                                              tree.write("b.c", entry_text("f", "return 2;"))}));
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(bundle.error().message, AllOf(HasSubstr("a.c"), HasSubstr("b.c"), HasSubstr("'f'")));
}

TEST(Compile, ASignatureThatIsNotCanonicalIsRefused) {
  std::string text = entry_text("f", "return 1;");
  text.replace(text.find("() -> i64"), 9, "()->i64  ");
  const auto bundle = compile_text(text, "code.c");
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.error().code, ErrorCode::bad_format);
}

TEST(Compile, BadRequestsAreRefused) {
  EXPECT_EQ(compile({}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(compile({.sources = {"notes.txt"}}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(compile({.sources = {"absent.cpp"}}).error().code, ErrorCode::not_found);
}

TEST(Compile, AMissingCompilerIsNamed) {
  const SourceTree tree;
  auto request = native_request({tree.write("code.cpp", kNorm)});
  request.clang = "godwit-no-such-clang";
  const auto bundle = compile(request);
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.error().code, ErrorCode::not_found);
  EXPECT_THAT(bundle.error().message,
              AllOf(HasSubstr("godwit-no-such-clang"), HasSubstr("GODWIT_CLANG")));
}

TEST(Compile, TellsTheCommandsItRuns) {
  const SourceTree tree;
  auto request = native_request({tree.write("code.cpp", kNorm)});
  std::vector<std::string> commands;
  request.on_command = [&](std::string_view command) { commands.emplace_back(command); };
  ASSERT_TRUE(compile(request));
  EXPECT_THAT(commands, Contains(HasSubstr("code.cpp")));
}

TEST(Needs, ALibraryBecomesItsSoname) {
  const SourceTree tree;
  const std::string text =
      "extern unsigned long crc32(unsigned long, const unsigned char*, unsigned);\n" +
      entry_text("f", "return (int64_t)crc32(0, (const unsigned char*)\"abc\", 3);");
  // Only this machine has zlib to link with; the other one gets a stand-in.
  CompileRequest request{
      .sources = {tree.write("code.c", text)},
      .needs = {"z"},
      .targets = {host_machine(),
                  host_machine() == Machine::x86_64 ? Machine::aarch64 : Machine::x86_64},
      .kinds = {SliceKind::native}};
  const auto bundle = compile(request);
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_THAT(bundle->needs(), ElementsAre("libz.so.1"));
  for (const SliceInfo& slice : bundle->slices()) {
    EXPECT_THAT(slice.traits.imports, Contains("crc32"));
  }
}

TEST(Needs, AnUnknownLibraryMayBeGivenByItsSoname) {
  const SourceTree tree;
  auto request = native_request({tree.write("code.c", entry_text("f", "return 1;"))});
  request.needs = {"godwitabsent"};
  const auto refused = compile(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_found);
  EXPECT_THAT(refused.error().message, HasSubstr("libgodwitabsent.so.1"));

  request.needs = {"libgodwitabsent.so.3"};
  std::string warnings;
  request.on_warning = [&](std::string_view text) { warnings += text; };
  const auto bundle = compile(request);
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(warnings, "") << "a stand-in is no news to the user";
  EXPECT_THAT(bundle->needs(), ElementsAre("libgodwitabsent.so.3"));
}

}  // namespace
}  // namespace godwit::code
