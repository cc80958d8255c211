#include "table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/json_value.hpp"

namespace godwit::bench {
namespace {

using testing::HasSubstr;

Row row(std::string name, double p50_us, double rate_per_s = 0) {
  Row made;
  made.name = std::move(name);
  made.sample.p50_us = p50_us;
  made.sample.rate_per_s = rate_per_s;
  made.sample.rounds = 12;
  return made;
}

constexpr Goal at_most(double ratio) {
  return {Goal::Kind::ratio_at_most, ratio};
}

TEST(Row, StandsBesideItsFloorByLatencyByRateAndByPace) {
  const Row floor = row("floor", 10, 200);
  EXPECT_DOUBLE_EQ(*beside(row("call", 5, 300), floor, By::p50).ratio, 0.5);
  EXPECT_DOUBLE_EQ(*beside(row("call", 5, 300), floor, By::rate).ratio, 1.5);
  EXPECT_DOUBLE_EQ(*beside(row("call", 5, 300), floor, By::pace).ratio, 2);
  EXPECT_EQ(beside(row("call", 5), floor, By::p50).floor, "floor");
}

TEST(Row, MeetsItsGoalOrNot) {
  const Row floor = row("floor", 10, 100);
  EXPECT_EQ(row("call", 7).met(), std::nullopt) << "no goal, no verdict";
  EXPECT_EQ(beside(row("call", 7), floor, By::p50, at_most(0.7)).met(), true);
  EXPECT_EQ(beside(row("call", 7.1), floor, By::p50, at_most(0.7)).met(), false);
  const Goal at_least{Goal::Kind::ratio_at_least, 1.2};
  EXPECT_EQ(beside(row("call", 1, 120), floor, By::rate, at_least).met(), true);
  EXPECT_EQ(beside(row("call", 1, 119), floor, By::rate, at_least).met(), false);
  Row cold = row("cold", 299);
  cold.goal = Goal{Goal::Kind::p50_below_us, 300};
  EXPECT_EQ(cold.met(), true);
  cold.sample.p50_us = 300;
  EXPECT_EQ(cold.met(), false) << "below means below";
}

TEST(Goal, SaysItselfTheWayATableReads) {
  EXPECT_EQ(at_most(0.7).text(), "<= 0.70x");
  EXPECT_EQ((Goal{Goal::Kind::ratio_at_least, 1.2}).text(), ">= 1.20x");
  EXPECT_EQ((Goal{Goal::Kind::p50_below_us, 300}).text(), "< 300 us");
}

Table sample_table() {
  Table table{.suite = "warm", .title = "Warm \"calls\"", .more_columns = {"load us"}};
  table.rows = {row("floor", 10.04, 200),
                beside(row("call, 64 B", 123.4, 300), row("floor", 10.04), By::p50, at_most(0.7))};
  table.rows[1].more = {5.678};
  table.notes = {"A note."};
  return table;
}

TEST(Table, IsAlignedMarkdown) {
  const std::string text = to_text(sample_table());
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  ASSERT_EQ(lines.size(), 6U) << text;
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(lines[i].size(), lines[0].size()) << text;
  EXPECT_THAT(lines[0], HasSubstr("| row        | p50 us |"));
  EXPECT_THAT(lines[1], HasSubstr("|------------|-------:|"));
  EXPECT_THAT(lines[2], HasSubstr("| floor      |   10.0 |")) << "three digits";
  EXPECT_THAT(lines[3], HasSubstr("| call, 64 B |    123 |"));
  EXPECT_THAT(lines[3], HasSubstr("|    5.68 |  floor | 12.29x | <= 0.70x |  no |"));
  EXPECT_EQ(lines[5], "A note.");
}

TEST(Table, IsJsonThatCanBeRead) {
  const auto read = trace::JsonValue::parse(to_json(sample_table()));
  ASSERT_TRUE(read) << read.error().message << "\n" << to_json(sample_table());
  EXPECT_EQ((*read)["title"].text(), "Warm \"calls\"");
  const auto& rows = (*read)["rows"].items();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["beside"].kind(), trace::JsonValue::Kind::null);
  EXPECT_EQ(rows[1]["beside"].text(), "floor");
  EXPECT_DOUBLE_EQ(rows[1]["load us"].number(), 5.678);
  EXPECT_EQ(rows[1]["goal"].text(), "<= 0.70x");
  EXPECT_FALSE(rows[1]["met"].truth());
  EXPECT_EQ(rows[1]["calls"].count(), 12U);
}

}  // namespace
}  // namespace godwit::bench
