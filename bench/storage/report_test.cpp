#include "storage/report.hpp"

#include <gmock/gmock.h>

namespace godwit::bench {
namespace {

using testing::HasSubstr;

TEST(StorageReport, SaysWhatCameHereAndHowMuchSoonerTheAnswerDid) {
  StorageLine line{.path = "tcp", .share = 0.0001};
  line.ways[0] = {.seconds = 0.05, .bytes = 32};
  line.ways[1] = {.seconds = 0.1, .bytes = 25'600};
  line.ways[2] = {.seconds = 0.4, .bytes = 256'000'000};
  const std::string text = to_text(std::span(&line, 1));
  for (const char* part : {"0.01 %", "50.00", "32 B", "25.6 kB", "256.0 MB", "8.00", "4.00"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(to_json(std::span(&line, 1)),
              HasSubstr(R"("at_data": {"ms": 50.000, "bytes": 32, "times_pull": 8.000})"));
}

TEST(StorageRecord, ABoundSelectsItsShareOfTheRecords) {
  constexpr std::uint64_t kRecords = 100'000;
  storage::Summary summary;
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    const storage::Record record = storage::Record::of(i);
    if (record.key <= UINT32_MAX / 10) summary.add(record);
  }
  EXPECT_NEAR(static_cast<double>(summary.count) / kRecords, 0.1, 0.01);
  EXPECT_LT(summary.least, summary.greatest);
}

}  // namespace
}  // namespace godwit::bench
