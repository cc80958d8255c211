// Which way readers take to what a channel has: as it was measured, and another when one fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/folder_for_test.hpp"
#include "node/object_for_test.hpp"
#include "ref/access/access.hpp"

namespace godwit::node {
namespace {

using std::chrono::steady_clock;
using Numbers = std::uint64_t[];
using Microseconds = std::chrono::duration<double, std::micro>;

// How this process's channel fares; the nodes' own is well.
struct Guide {
  static constexpr int kMany = 1'000'000;
  std::atomic<int> gets_left{kMany};  // then it fails
  std::atomic<double> takes_us{0};    // a get, at least
};

// A folder, as the nodes have it, that does as it is told. Nothing is expected to be cheaper.
class GuidedChannel final : public Channel {
 public:
  GuidedChannel(std::unique_ptr<Channel> folder, Guide& guide)
      : folder_(std::move(folder)), guide_(guide) {}
  Status put(std::string_view key, Parts parts) override { return folder_->put(key, parts); }
  Status get(std::string_view key, std::uint64_t offset, std::span<std::byte> into) override {
    const auto begin = steady_clock::now();
    if (guide_.gets_left-- <= 0) {
      return tl::unexpected(Error{ErrorCode::unreachable, "the cable is out"});
    }
    Status got = folder_->get(key, offset, into);
    const Microseconds takes(guide_.takes_us);
    eventually([&] { return steady_clock::now() - begin >= takes; }, std::chrono::minutes(1));
    return got;
  }
  Result<std::uint64_t> size(std::string_view key) override { return folder_->size(key); }
  Status remove(std::string_view key) override { return folder_->remove(key); }
  [[nodiscard]] ChannelCost cost_hint() const override { return {0, 0}; }
  [[nodiscard]] std::string describe() const override { return "guided:"; }

 private:
  std::unique_ptr<Channel> folder_;
  Guide& guide_;
};

class ChannelWays : public testing::TestWithParam<LocalTransport> {
 protected:
  static constexpr std::size_t kCount = 50'000;

  Fleet start() {
    good(register_channel(
        "guided", [this](const ChannelUrl& url) -> Result<std::unique_ptr<Channel>> {
          return std::make_unique<GuidedChannel>(good(open_channel("file:" + url.path)), guide_);
        }));
    const std::string path = (folder_ / "store").string();
    LocalOptions options;
    options.transport = GetParam();
    options.node_arguments = {"--jit=off", "--channel=store file:" + path};
    options.client.channels = {good(ChannelOptions::parse("store guided:" + path))};
    return local(1, std::move(options));
  }
  static Ref<Numbers> put(const Fleet& fleet, std::size_t count = kCount) {
    PutOptions options;
    options.channel = "store";
    return good(fleet.node(0).put(numbers(count), options));
  }
  static void expect_numbers(std::span<const std::uint64_t> found, std::size_t count = kCount) {
    const auto all = numbers(count);
    EXPECT_TRUE(std::equal(found.begin(), found.end(), all.begin(), all.end()));
  }
  // After a failure it rests.
  static bool becomes_chosen(const Ref<Numbers>& ref) {
    return eventually([&] { return good(ref.explain()).chosen == "store"; });
  }

  TestFolder folder_;
  Guide guide_;
};

TEST_P(ChannelWays, AChannelThatFailsItsReaderIsReadByWayOfTheHome) {
  Fleet fleet = start();
  const auto ref = put(fleet);
  const auto next = put(fleet);
  EXPECT_EQ(good(ref.explain()).chosen, "store");
  guide_.gets_left = 0;
  const auto pinned = good(ref.resolve());
  EXPECT_NE(pinned.how(), ResolvedBy::channel);
  expect_numbers(*pinned);
  EXPECT_FALSE(good(ref.status()).elsewhere) << "its home has fetched it";
  guide_.gets_left = Guide::kMany;
  EXPECT_TRUE(becomes_chosen(next)) << "it is tried again";
  EXPECT_EQ(good(next.resolve()).how(), ResolvedBy::channel);
}

TEST_P(ChannelWays, WhatFailsInTheMiddleGoesOnByWayOfTheHome) {
  Fleet fleet = start();
  constexpr std::size_t kPieces = 3;
  constexpr std::size_t kElements = kPieces * ref::ObjectAccess::kPieceBytes / 8 - 100;
  const auto ref = put(fleet, kElements);
  guide_.gets_left = 1;
  std::vector<std::byte> bytes;
  good(fleet.objects().copy_out(ref.handle(), {0, kElements * 8}, [&](Bytes piece) -> Status {
    if (bytes.empty()) {
      EXPECT_TRUE(good(ref.status()).elsewhere) << "the first comes from the channel";
    }
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return {};
  }));
  EXPECT_LT(guide_.gets_left, 0) << "the second was asked for there";
  EXPECT_FALSE(good(ref.status()).elsewhere);
  ASSERT_EQ(bytes.size(), kElements * 8);
  expect_numbers({reinterpret_cast<const std::uint64_t*>(bytes.data()), kElements}, kElements);
}

TEST_P(ChannelWays, APartThatTheReadersChannelFailsToGiveComesFromTheHome) {
  Fleet fleet = start();
  const auto ref = put(fleet);
  guide_.gets_left = 0;
  const auto part = good(ref.slice(500, 20));
  const auto all = numbers(520);
  EXPECT_EQ(part, std::vector(all.begin() + 500, all.end()));
  EXPECT_LT(guide_.gets_left, 0);
  EXPECT_TRUE(eventually([&] { return good(ref.status()).pins == 0; }));
}

TEST_P(ChannelWays, WhatWasMeasuredChangesTheWayOfWhatWasPutBefore) {
  Fleet fleet = start();
  // By way of the home, once, so that it has been measured.
  guide_.gets_left = 0;
  expect_numbers(*good(put(fleet).resolve()));
  guide_.gets_left = Guide::kMany;

  const auto slow = put(fleet);
  const auto after = put(fleet);
  ASSERT_TRUE(becomes_chosen(after)) << "it is thought to be cheap";
  const ResolvePath by_home = good(after.explain()).paths.back();
  EXPECT_EQ(by_home.measured, 1);
  ASSERT_GT(by_home.expected_us, 0);
  guide_.takes_us = 4 * by_home.expected_us;
  EXPECT_EQ(good(slow.resolve()).how(), ResolvedBy::channel);

  const auto decision = good(after.explain());
  EXPECT_EQ(decision.chosen, by_home.name);
  EXPECT_NE(decision.why.find("by way of the home it took less"), std::string::npos)
      << decision.why;
  EXPECT_EQ(decision.paths.back().name, "store");
  EXPECT_GT(decision.paths.back().expected_us, by_home.expected_us);
  EXPECT_TRUE(good(after.status()).elsewhere);
  const auto pinned = good(after.resolve());
  EXPECT_NE(pinned.how(), ResolvedBy::channel);
  expect_numbers(*pinned);
  EXPECT_FALSE(good(after.status()).elsewhere) << "its home has fetched it";
}

INSTANTIATE_TEST_SUITE_P(Transports, ChannelWays,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
