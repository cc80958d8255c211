#include "netlab/units.hpp"

#include <gtest/gtest.h>

namespace godwit::netlab {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

TEST(NetlabUnits, TimesAreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_time("300us").value(), microseconds(300));
  EXPECT_EQ(parse_time("1.5ms").value(), microseconds(1500));
  EXPECT_EQ(parse_time("2s").value(), std::chrono::seconds(2));
  EXPECT_EQ(parse_time("0").value(), nanoseconds(0));
  for (const char* bad : {"", "5", "us", "-1us", "5 parsecs", "nanus", "1e30s"}) {
    EXPECT_FALSE(parse_time(bad)) << bad;
  }
}

TEST(NetlabUnits, FractionsArePercentOrPlain) {
  EXPECT_DOUBLE_EQ(parse_fraction("0.1%").value(), 0.001);
  EXPECT_DOUBLE_EQ(parse_fraction("0.25").value(), 0.25);
  EXPECT_DOUBLE_EQ(parse_fraction("100%").value(), 1);
  for (const char* bad : {"", "101%", "2", "-1%", "some"}) EXPECT_FALSE(parse_fraction(bad)) << bad;
}

TEST(NetlabUnits, RatesAreBitsOrBytesPerSecond) {
  EXPECT_EQ(parse_rate("1Gbit").value(), 125'000'000U);
  EXPECT_EQ(parse_rate("100Mbit").value(), 12'500'000U);
  EXPECT_EQ(parse_rate("10MB").value(), 10'000'000U);
  EXPECT_EQ(parse_rate("0").value(), 0U);
  for (const char* bad : {"", "100", "1 Gbit", "-1Gbit", "fast"})
    EXPECT_FALSE(parse_rate(bad)) << bad;
}

TEST(NetlabUnits, SizesAreBytesOrBinaryMultiples) {
  EXPECT_EQ(parse_size("1500").value(), 1500U);
  EXPECT_EQ(parse_size("64KiB").value(), 65536U);
  EXPECT_EQ(parse_size("1MiB").value(), 1048576U);
  EXPECT_FALSE(parse_size("64kb"));
  EXPECT_NE(parse_size("big").error().message.find("64KiB"), std::string::npos);
}

}  // namespace
}  // namespace godwit::netlab
