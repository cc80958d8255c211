#include "godwit/error.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string>

#include "base/fail.hpp"

namespace godwit {
namespace {

TEST(Error, TheHundredsSayWhatIsDamaged) {
  EXPECT_EQ(damage(ErrorCode::deadline), Damage::call);
  EXPECT_EQ(damage(ErrorCode::bad_format), Damage::object);
  EXPECT_EQ(damage(ErrorCode::link_lost), Damage::link);
  EXPECT_EQ(damage(ErrorCode::node_lost), Damage::node);
}

TEST(Error, NumbersOnTheWireStayPut) {
  EXPECT_EQ(static_cast<int>(ErrorCode::unknown_function), 2);
  EXPECT_EQ(static_cast<int>(ErrorCode::app_error), 16);
  EXPECT_EQ(static_cast<int>(ErrorCode::unknown_code), 19);
  EXPECT_EQ(static_cast<int>(ErrorCode::permission), 105);
  EXPECT_EQ(static_cast<int>(ErrorCode::borrowed), 107);
  EXPECT_EQ(static_cast<int>(ErrorCode::protocol_violation), 207);
  EXPECT_EQ(static_cast<int>(ErrorCode::unsupported), 304);
}

TEST(Error, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (std::uint16_t number = 0; number < 400; ++number) {
    const std::string_view name = to_string(static_cast<ErrorCode>(number));
    if (name == "unknown") continue;
    EXPECT_TRUE(names.insert(name).second) << name << " names two codes";
  }
  EXPECT_TRUE(names.contains("missing_library"));
  EXPECT_EQ(to_string(static_cast<ErrorCode>(9999)), "unknown");
  EXPECT_EQ(to_string(Damage::link), "link");
  EXPECT_EQ(to_string(static_cast<Damage>(99)), "unknown");
}

Result<std::unique_ptr<int>> positive(int value) {
  if (value <= 0) return fail(ErrorCode::invalid_argument, "{} is not positive", value);
  return std::make_unique<int>(value);
}

Status check(int value) {
  GODWIT_CHECK(positive(value));
  return {};
}

Result<int> sum(int a, int b) {
  GODWIT_TRY(const auto left, positive(a));
  GODWIT_TRY(const auto right, positive(b));
  return *left + *right;
}

TEST(Result, TryUnwrapsMoveOnlyValues) {
  EXPECT_EQ(sum(2, 3).value(), 5);
}

TEST(Result, TryAndCheckPassTheFirstErrorOn) {
  const Result<int> failed = sum(2, -3);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(failed.error().message, "-3 is not positive");
  EXPECT_TRUE(check(1));
  EXPECT_FALSE(check(0));
}

TEST(Error, ErrnoTextIsTheSystemsWords) {
  EXPECT_EQ(errno_text(ENOENT), "No such file or directory");
}

}  // namespace
}  // namespace godwit
