#include "query/filter.hpp"

#include <gtest/gtest.h>

#include <string>

namespace godwit::graph {
namespace {

constexpr Comparison kAll[] = {Comparison::equal,   Comparison::not_equal,
                               Comparison::less,    Comparison::less_equal,
                               Comparison::greater, Comparison::greater_equal};

// Which of = != < <= > >= hold, one letter each.
std::string holding(std::string_view left, std::string_view right) {
  std::string text;
  for (const Comparison comparison : kAll) {
    text += compare(value_of(left), comparison, value_of(right)) ? 'y' : '-';
  }
  return text;
}

constexpr const char* kEqual = "y--y-y";
constexpr const char* kLess = "-yyy--";
constexpr const char* kGreater = "-y--yy";
constexpr const char* kNoOrder = "-y----";
constexpr const char* kSame = "y-----";

TEST(Filter, NumbersCompareByValueWhateverTheirType) {
  const std::string integer = "\"7\"^^<http://www.w3.org/2001/XMLSchema#integer>";
  const std::string decimal = "\"7.0\"^^<http://www.w3.org/2001/XMLSchema#decimal>";
  const std::string ten = "\"10\"^^<http://www.w3.org/2001/XMLSchema#int>";
  EXPECT_EQ(holding(integer, decimal), kEqual);
  EXPECT_EQ(holding(integer, ten), kLess);
  EXPECT_EQ(holding(ten, integer), kGreater);
}

TEST(Filter, StringsCompareByTheirCharacters) {
  EXPECT_EQ(holding("\"a\"", "\"a\""), kEqual);
  EXPECT_EQ(holding("\"10\"", "\"7\""), kLess);
  EXPECT_EQ(holding("\"\xC3\xA9\"", "\"z\""), kGreater);
  // By what escapes stand for, not by how they are spelled: a line feed comes before a letter.
  EXPECT_EQ(holding("\"\\n\"", "\"A\""), kLess);
}

TEST(Filter, OtherTermsAreTheSameOrNot) {
  EXPECT_EQ(holding("<x:a>", "<x:a>"), kSame);
  EXPECT_EQ(holding("<x:a>", "<x:b>"), kNoOrder);
  EXPECT_EQ(holding("\"a\"@en", "\"a\"@de"), kNoOrder);
}

TEST(Filter, DifferentKindsAreNeverEqualAndHaveNoOrder) {
  EXPECT_EQ(holding("\"7\"^^<http://www.w3.org/2001/XMLSchema#integer>", "\"7\""), kNoOrder);
  EXPECT_EQ(holding("\"x:a\"", "<x:a>"), kNoOrder);
}

}  // namespace
}  // namespace godwit::graph
