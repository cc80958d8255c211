#include "trace/prometheus.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace godwit::trace {
namespace {

TEST(Prometheus, WritesOneHeaderPerFamily) {
  CounterSet set;
  set.counter("ended{outcome=\"ok\"}", "Calls that ended").add(3);
  set.counter("ended{outcome=\"deadline\"}", "Calls that ended").add(1);
  set.counter("ended_late", "Late ones").add(2);
  set.gauge("queued", "Waiting calls\nin all \\ queues").set(-4);
  EXPECT_EQ(prometheus_text(set.snapshot()),
            "# HELP godwit_ended_late_total Late ones\n"
            "# TYPE godwit_ended_late_total counter\n"
            "godwit_ended_late_total 2\n"
            "# HELP godwit_ended_total Calls that ended\n"
            "# TYPE godwit_ended_total counter\n"
            "godwit_ended_total{outcome=\"deadline\"} 1\n"
            "godwit_ended_total{outcome=\"ok\"} 3\n"
            "# HELP godwit_queued Waiting calls\\nin all \\\\ queues\n"
            "# TYPE godwit_queued gauge\n"
            "godwit_queued -4\n");
}

TEST(Prometheus, WritesHistogramsWithCumulativeBuckets) {
  CounterSet set;
  Histogram& wait = set.histogram("wait_ns{link=\"1\"}", "Waiting");
  for (const std::uint64_t value : {0U, 1U, 3U, 5U}) wait.record(value);
  EXPECT_EQ(prometheus_text(set.snapshot(), "g_"),
            "# HELP g_wait_ns Waiting\n"
            "# TYPE g_wait_ns histogram\n"
            "g_wait_ns_bucket{link=\"1\",le=\"0\"} 1\n"
            "g_wait_ns_bucket{link=\"1\",le=\"1\"} 2\n"
            "g_wait_ns_bucket{link=\"1\",le=\"3\"} 3\n"
            "g_wait_ns_bucket{link=\"1\",le=\"7\"} 4\n"
            "g_wait_ns_bucket{link=\"1\",le=\"+Inf\"} 4\n"
            "g_wait_ns_sum{link=\"1\"} 9\n"
            "g_wait_ns_count{link=\"1\"} 4\n");
}

TEST(Prometheus, TheLargestValueIsInTheLastBucketOnly) {
  CounterSet set;
  set.histogram("h", "").record(std::numeric_limits<std::uint64_t>::max());
  const std::string text = prometheus_text(set.snapshot());
  EXPECT_NE(text.find("le=\"9223372036854775807\"} 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("le=\"+Inf\"} 1\n"), std::string::npos) << text;
}

TEST(Prometheus, MakesNamesLegal) {
  CounterSet set;
  set.gauge("odd name-1", "").set(1);
  EXPECT_NE(prometheus_text(set.snapshot()).find("godwit_odd_name_1 1\n"), std::string::npos);
}

}  // namespace
}  // namespace godwit::trace
