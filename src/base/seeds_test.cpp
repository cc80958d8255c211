#include <stdlib.h>

#include <vector>

#include "base/seeds_for_test.hpp"

namespace godwit {
namespace {

// GODWIT_SEED for as long as it lives; then as it was.
class WantedSeed {
 public:
  explicit WantedSeed(const char* value) {
    const char* before = std::getenv("GODWIT_SEED");  // NOLINT(concurrency-mt-unsafe): one thread
    if (before != nullptr) before_ = before;
    set(value);
  }
  ~WantedSeed() { set(before_ ? before_->c_str() : nullptr); }
  WantedSeed(const WantedSeed&) = delete;
  WantedSeed& operator=(const WantedSeed&) = delete;

 private:
  static void set(const char* value) {
    // NOLINTBEGIN(concurrency-mt-unsafe): one thread
    if (value == nullptr) {
      ::unsetenv("GODWIT_SEED");
    } else {
      ::setenv("GODWIT_SEED", value, 1);
    }
    // NOLINTEND(concurrency-mt-unsafe)
  }
  std::optional<std::string> before_;
};

std::vector<std::uint64_t> tried(Seeds&& seeds) {
  std::vector<std::uint64_t> all;
  for (const std::uint64_t seed : seeds) all.push_back(seed);
  return all;
}

TEST(Seeds, AreTriedFromTheFirstToTheLast) {
  const WantedSeed none(nullptr);
  EXPECT_EQ(tried(Seeds(3, 6)), (std::vector<std::uint64_t>{3, 4, 5, 6}));
  EXPECT_EQ(tried(Seeds(0, 0)), (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(Seed(7).value(), 7U);
}

TEST(Seeds, OneOfTheEnvironmentIsTriedAlone) {
  const WantedSeed wanted("18446744073709551615");
  EXPECT_EQ(tried(Seeds(3, 6)), (std::vector<std::uint64_t>{UINT64_MAX}));
  EXPECT_EQ(Seed(7).value(), UINT64_MAX);
}

TEST(Seeds, TheCommandThatRepeatsOneNamesSeedProgramAndTest) {
  const std::string command = repeat_command(12);
  EXPECT_EQ(command.find("GODWIT_SEED=12 "), 0U) << command;
  EXPECT_NE(command.find("base_test --gtest_filter=Seeds.TheCommandThat"), std::string::npos)
      << command;
}

}  // namespace
}  // namespace godwit
