#include "chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace godwit::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Chart, ShowsEverySeriesAndEscapesItsWords) {
  const std::string svg = to_svg(std::vector<Chart>{
      {"a < b", "x", "y", {{"first & last", {{1, 10}, {4, 1000}}}, {"other", {{2, 20}}}}}});
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr("first &amp; last"));
  EXPECT_THAT(svg, HasSubstr("other"));
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
}

TEST(Chart, LeavesOutWhatALogarithmCannotShow) {
  const std::string svg = to_svg(std::vector<Chart>{{"t", "x", "y", {{"s", {{0, 1}, {1, 0}}}}}});
  EXPECT_THAT(svg, HasSubstr("no values"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Chart, DrawsASingleValueInTheMiddle) {
  const std::string svg = to_svg(std::vector<Chart>{{"t", "x", "y", {{"s", {{64, 10}}}}}});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, HasSubstr("<circle"));
}

}  // namespace
}  // namespace godwit::bench
