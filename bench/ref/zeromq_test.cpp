#include "ref/zeromq.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace godwit::bench {
namespace {

class ZeromqTest : public testing::TestWithParam<ZeromqWay> {};

TEST_P(ZeromqTest, MessagesArriveAsTheyWereSent) {
  auto sender = make_zeromq_sender(GetParam());
  if (!sender && sender.error().code == ErrorCode::not_found) {
    GTEST_SKIP() << sender.error().message;
  }
  ASSERT_TRUE(sender) << sender.error().message;
  auto receiver = make_zeromq_receiver((*sender)->address());
  ASSERT_TRUE(receiver) << receiver.error().message;
  // One that is copied, one that is not, and one after it.
  std::byte value{1};
  std::vector<std::vector<std::byte>> sent;
  for (const std::size_t size : {64, 1'000'000, 1}) {
    sent.emplace_back(size, value);
    value = std::byte(static_cast<unsigned char>(value) + 1);
    ASSERT_TRUE((*sender)->send(sent.back()));
  }
  for (const auto& bytes : sent) {
    const auto received = (*receiver)->receive();
    ASSERT_TRUE(received) << received.error().message;
    EXPECT_TRUE(std::ranges::equal(*received, bytes)) << bytes.size() << " bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(OfOneHost, ZeromqTest, testing::Values(ZeromqWay::ipc, ZeromqWay::tcp));

}  // namespace
}  // namespace godwit::bench
