// Which seeds a test tries, and what to type when one of them fails. GODWIT_SEED=N makes every
// seeded test try N alone.
//
//   for (const std::uint64_t seed : Seeds(1, 5000)) run(seed);   // ends with the first that fails
//   const Seed seed(7);
//   Random random(seed.value());
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace godwit {

// Nothing if it is not set; a word that is no number fails the test.
inline std::optional<std::uint64_t> wanted_seed() {
  const char* text = std::getenv("GODWIT_SEED");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  if (error == std::errc() && end == digits.data() + digits.size()) return seed;
  ADD_FAILURE() << "GODWIT_SEED is not a number: " << digits;
  return std::nullopt;
}

// What runs the current test with that seed and nothing else.
inline std::string repeat_command(std::uint64_t seed) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  return "GODWIT_SEED=" + std::to_string(seed) + " " + program_invocation_name +
         " --gtest_filter=" + test.test_suite_name() + "." + test.name();
}

// Seeds one after another, until a failure. The seed under way when the test fails is printed,
// however the loop is left and whichever thread found the fault; a crash leaves no time for it.
class Seeds {
 public:
  Seeds(std::uint64_t first, std::uint64_t last) : next_(first), last_(last) {
    if (const auto wanted = wanted_seed()) next_ = last_ = *wanted;
  }
  ~Seeds() { tell(); }
  Seeds(const Seeds&) = delete;
  Seeds& operator=(const Seeds&) = delete;

  struct End {};
  class Iterator {
   public:
    explicit Iterator(Seeds& seeds) : seeds_(seeds) {}
    std::uint64_t operator*() const { return seeds_.current(); }
    void operator++() { seeds_.advance(); }
    bool operator==(End) const { return seeds_.over_; }

   private:
    Seeds& seeds_;
  };
  [[nodiscard]] Iterator begin() { return Iterator(*this); }
  [[nodiscard]] static End end() { return {}; }

  [[nodiscard]] std::uint64_t current() const { return next_; }

 private:
  void advance() {
    over_ = next_ == last_ || testing::Test::HasFailure();
    if (!over_) ++next_;
  }
  void tell() const {
    if (failed_before_ || !testing::Test::HasFailure()) return;
    std::printf("Seed %ju failed; to repeat it alone: %s\n", static_cast<std::uintmax_t>(next_),
                repeat_command(next_).c_str());
  }

  std::uint64_t next_;
  std::uint64_t last_;
  bool over_ = false;
  // The fault of something else in the same test.
  bool failed_before_ = testing::Test::HasFailure();
};

// One seed, for a test that makes its own variety out of it. Lives as long as what uses it.
class Seed {
 public:
  explicit Seed(std::uint64_t standard) : seeds_(standard, standard) {}
  [[nodiscard]] std::uint64_t value() const { return seeds_.current(); }

 private:
  Seeds seeds_;
};

}  // namespace godwit
