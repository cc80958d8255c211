// The optimised tier uses what this CPU has, though the bitcode was built for any CPU.
#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <numeric>

#include "code/jit/jit_fixture.hpp"

namespace godwit::code::jit {
namespace {

constexpr std::size_t kCacheHeaderBytes = 48;

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c): a fixed command
  if (pipe == nullptr) return text;
  std::array<char, 4096> part{};
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe)) {
    text.append(part.data(), got);
  }
  pclose(pipe);
  return text;
}

// The machine code the JIT made, in words: the cached object without the cache's header.
std::string disassembly(const TemporaryDirectory& directory) {
  const auto files = directory.files();
  EXPECT_EQ(files.size(), 1U);
  std::ifstream cached(files.at(0), std::ios::binary);
  cached.seekg(kCacheHeaderBytes);
  const std::string object = directory.path() + "/dot.o";
  std::ofstream(object, std::ios::binary) << cached.rdbuf();
  return output_of(std::string(GODWIT_OBJDUMP) + " -d --no-show-raw-insn " + object);
}

double dot_product(const Library& library) {
  std::vector<double> x(1003);
  std::iota(x.begin(), x.end(), 0.0);
  const std::vector<double> y(x.size(), 2.0);
  const Answer answer = call(library, "dot_product", x.data(), y.data(), x.size());
  double sum = 0;
  EXPECT_EQ(answer.bytes.size(), sizeof sum);
  std::memcpy(&sum, answer.bytes.data(), sizeof sum);
  return sum;
}

class JitOptimise : public testing::TestWithParam<const char*> {};

TEST_P(JitOptimise, DotProductUsesTheWidestRegistersAndFma) {
  const TemporaryDirectory directory;
  auto jit = open_or_fail({.cache_directory = directory.path()});
  const auto library = load_or_fail(*jit, GetParam(), Tier::optimised);
  EXPECT_EQ(dot_product(*library), 1002.0 * 1003.0);
  const JitInfo info = jit->info();
  const std::string code = disassembly(directory);
  if (info.features.find("+avx512f") != std::string::npos) {
    EXPECT_THAT(code, testing::ContainsRegex("vfmadd[0-9]+pd.*zmm"));
  } else if (info.features.find("+fma") != std::string::npos) {
    EXPECT_THAT(code, testing::ContainsRegex("vfmadd[0-9]+pd.*ymm"));
  } else if (info.arch == "aarch64") {
    EXPECT_THAT(code, testing::ContainsRegex("fmla[[:space:]]+[vz]"));
  } else {
    EXPECT_THAT(code, testing::ContainsRegex("mulpd.*xmm"));
  }
}

TEST_P(JitOptimise, FastTierGivesTheSameResult) {
  auto jit = open_or_fail();
  EXPECT_EQ(dot_product(*load_or_fail(*jit, GetParam(), Tier::fast)), 1002.0 * 1003.0);
}

INSTANTIATE_TEST_SUITE_P(Forms, JitOptimise, testing::Values("dot", "dot_raw"),
                         [](const auto& form) { return std::string(form.param); });

}  // namespace
}  // namespace godwit::code::jit
