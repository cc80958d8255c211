#include "command_line/transfer_bar.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "command_line/byte_text.hpp"

namespace godwit::cli {
namespace {

// What is printed to a stream meanwhile.
class Printed {
 public:
  Printed() : stream_(::open_memstream(&text_, &size_)) {}
  ~Printed() {
    std::fclose(stream_);
    std::free(text_);
  }
  Printed(const Printed&) = delete;
  Printed& operator=(const Printed&) = delete;
  [[nodiscard]] std::FILE* stream() const { return stream_; }
  [[nodiscard]] std::string text() const {
    std::fflush(stream_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* stream_;
};

TEST(ByteText, HasTheUnitThatLeavesFewDigits) {
  EXPECT_EQ(byte_text(0), "0 B");
  EXPECT_EQ(byte_text(1023), "1023 B");
  EXPECT_EQ(byte_text(1024), "1.0 KiB");
  EXPECT_EQ(byte_text(1536), "1.5 KiB");
  EXPECT_EQ(byte_text((1U << 20U) - 1), "1.0 MiB") << "not 1024.0 KiB";
  EXPECT_EQ(byte_text(std::uint64_t{3} << 30U), "3.0 GiB");
  EXPECT_EQ(byte_text(UINT64_MAX), "16384.0 PiB");
  EXPECT_EQ(rate_text(3U << 20U, 2), "1.5 MiB/s");
  EXPECT_EQ(rate_text(1, 0), "-");
}

TEST(TransferBar, SaysHowMuchOfAllIsDoneAndHowFastItGoes) {
  EXPECT_EQ(
      TransferBar::line("put", {.bytes = 1U << 20U, .total_bytes = 4U << 20U, .elapsed_s = 2}),
      "put  [#######.......................]  25 %  1.0 MiB, 512.0 KiB/s");
  EXPECT_EQ(TransferBar::line("put", {.bytes = 9, .total_bytes = 8, .elapsed_s = 1}),
            "put  [##############################] 100 %  9 B, 9 B/s");
  EXPECT_EQ(TransferBar::line("read", {.bytes = 2048, .elapsed_s = 1}), "read  2.0 KiB, 2.0 KiB/s");
}

TEST(TransferBar, IsDrawnOverItselfAndLeavesOneLine) {
  const Printed printed;
  {
    TransferBar bar("got", 8, {.draw = true, .to = printed.stream(), .pause = {}});
    bar.show(4);
    bar.show(8);
    bar.finish(8);
  }
  const std::string text = printed.text();
  EXPECT_NE(text.find("\rgot  [###############...............]  50 %  4 B"), std::string::npos)
      << text;
  const std::size_t cleared = text.rfind("\r\033[K");
  ASSERT_NE(cleared, std::string::npos);
  EXPECT_EQ(text.substr(cleared).rfind("\r\033[Kgot 8 B in ", 0), 0U) << text;
  EXPECT_TRUE(text.ends_with("/s\n")) << text;
}

TEST(TransferBar, IsGoneWhenATransferFails) {
  const Printed printed;
  {
    TransferBar bar("got", 8, {.draw = true, .to = printed.stream(), .pause = {}});
    bar.show(4);
  }
  EXPECT_TRUE(printed.text().ends_with("\r\033[K")) << printed.text();
}

TEST(TransferBar, SaysNothingWhereNobodyLooks) {
  const Printed printed;
  {
    TransferBar bar("got", 8, {.draw = false, .to = printed.stream(), .pause = {}});
    bar.show(4);
    bar.finish(8);
  }
  EXPECT_EQ(printed.text(), "");
}

}  // namespace
}  // namespace godwit::cli
