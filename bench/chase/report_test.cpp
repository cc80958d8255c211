#include "chase/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/json_value.hpp"

namespace godwit::bench {
namespace {

using testing::HasSubstr;

Line line_of(const Point& point, double get_rate, double godwit_rate) {
  Line line{.point = point};
  line.samples[static_cast<std::size_t>(Column::get)] = floors::Sample{.rate_per_s = get_rate};
  line.samples[static_cast<std::size_t>(Column::godwit)] =
      floors::Sample{.rate_per_s = godwit_rate};
  return line;
}

TEST(ChaseReport, HoldsTheGoalAgainstGetPerStep) {
  const Point point{.nodes = 4, .depth = 64, .in_flight = 1};
  EXPECT_THAT(to_text(std::vector{line_of(point, 100, 171)}), HasSubstr(">= 1.7x | yes |"));
  EXPECT_THAT(to_text(std::vector{line_of(point, 100, 169)}), HasSubstr(">= 1.7x |  no |"));
}

TEST(ChaseReport, HoldsTheGoalOfManyInFlightAgainstTheBetterOfBothWays) {
  const Point point{.nodes = 4, .depth = 64, .in_flight = 64};
  Line line = line_of(point, 100, 950);
  EXPECT_THAT(to_text(std::vector{line}), HasSubstr(">= 10.0x |  no |"));
  line.samples[static_cast<std::size_t>(Column::many)] = floors::Sample{.rate_per_s = 1500};
  EXPECT_THAT(to_text(std::vector{line}), HasSubstr(">= 10.0x | yes |"));
}

TEST(ChaseReport, ShowsManyInOneCallBesideOneEach) {
  Line line = line_of({.depth = 100, .in_flight = 64}, 1000, 10'000);
  line.samples[static_cast<std::size_t>(Column::many)] = floors::Sample{.rate_per_s = 40'000};
  EXPECT_THAT(to_text(std::vector{line}), HasSubstr(" 0.25 |"));
  EXPECT_THAT(to_json(std::vector{line}), HasSubstr("\"godwit_many\""));
}

TEST(ChaseReport, TellsTimePerStep) {
  const Line line = line_of({.depth = 100}, 1000, 10'000);
  EXPECT_DOUBLE_EQ(line.us_per_step(Column::get).value_or(0), 10);
  EXPECT_DOUBLE_EQ(line.speedup(Column::godwit, Column::get).value_or(0), 10);
  EXPECT_FALSE(line.us_per_step(Column::ucp_am));
  const auto json = trace::JsonValue::parse(to_json(std::vector{line}));
  ASSERT_TRUE(json) << json.error().message;
  ASSERT_EQ(json->items().size(), 1U);
  EXPECT_DOUBLE_EQ(json->items()[0]["godwit"]["us_per_step"].number(), 1);
}

TEST(ChaseReport, EveryExtentHasTheGoalsAndNoPointTwice) {
  for (const Extent extent : {Extent::quick, Extent::usual, Extent::full}) {
    const auto points = points_of(extent);
    for (const std::size_t in_flight : {1, 64}) {
      const Point goal{LocalTransport::tcp, 4, 64, in_flight};
      EXPECT_EQ(std::ranges::count(points, goal), 1);
    }
  }
}

}  // namespace
}  // namespace godwit::bench
