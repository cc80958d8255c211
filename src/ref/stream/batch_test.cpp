#include "ref/stream/batch.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "ref/stream/filter.hpp"
#include "ref/stream/stream_for_test.hpp"

namespace godwit::ref::stream {
namespace {

std::vector<std::byte> image_of(const std::vector<Item>& items) {
  std::vector<std::byte> image(packed_size(items).value());
  pack(items, image);
  return image;
}

TEST(Batch, ItemsComeBackAsTheyWerePacked) {
  const std::vector<std::byte> image = image_of(
      {{bytes_of("one"), bytes_of("key")}, {bytes_of(""), {}}, {bytes_of("three"), bytes_of("k")}});
  ASSERT_EQ(check_batch(image).value(), 3);
  const BatchView view(image, 3);
  EXPECT_EQ(text_of(view.item(0).bytes), "one");
  EXPECT_EQ(text_of(view.item(0).metadata), "key");
  EXPECT_EQ(text_of(view.item(1).bytes), "");
  EXPECT_EQ(text_of(view.item(2).bytes), "three");
  EXPECT_EQ(text_of(view.item(2).metadata), "k");
  EXPECT_EQ(view.bytes_before(2), 32 + 16);
}

TEST(Batch, EveryCutAndEveryFlippedByteOfTheIndexIsRefusedOrHarmless) {
  const std::vector<std::byte> image =
      image_of({{bytes_of("one"), bytes_of("key")}, {bytes_of("three"), {}}});
  for (std::size_t size = 0; size < image.size(); ++size) {
    EXPECT_EQ(code_of(check_batch(Bytes(image).first(size))), ErrorCode::bad_format) << size;
  }
  for (std::size_t at = 0; at < BatchView::size_of_index(2); ++at) {
    std::vector<std::byte> damaged = image;
    damaged[at] ^= std::byte{0x85};
    (void)check_batch(damaged);
    const BatchView view(damaged, 2);
    for (std::uint32_t i = 0; i < 2; ++i) {
      const Item item = view.item(i);
      EXPECT_GE(item.metadata.data(), damaged.data());
      EXPECT_LE(item.bytes.data() + item.bytes.size(), damaged.data() + damaged.size());
    }
  }
}

TEST(Batch, WhatIsBeyondALimitIsRefused) {
  EXPECT_EQ(code_of(packed_size({})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(packed_size(std::vector<Item>(kMaxBatchItems + 1))), ErrorCode::too_large);
  const std::string metadata(kMaxMetadataBytes + 1, 'm');
  EXPECT_EQ(code_of(packed_size(std::vector<Item>{{{}, bytes_of(metadata)}})),
            ErrorCode::too_large);
}

TEST(Batch, MemoryOfABatchThatNobodyTakesGoesBack) {
  Arena arena(arena_for_test());
  {
    const Batch packed = batch_of(arena, {"a", "b"});
    const std::vector<std::byte> image = image_of({{bytes_of("x"), {}}});
    const auto copied = Batch::copy_of(arena, image, kWait);
    EXPECT_EQ(copied->items(), 1);
    EXPECT_EQ(arena.use().extents, 2);
  }
  EXPECT_EQ(arena.use().extents, 0);
}

TEST(Batch, AnImageWrittenIntoTheArenaIsAdoptedOrLeftAlone) {
  Arena arena(arena_for_test());
  const std::vector<std::byte> image = image_of({{bytes_of("x"), {}}, {bytes_of("y"), {}}});
  const Extent extent = arena.allocate(image.size(), kWait).value();
  std::memset(extent.data, 0, image.size());
  EXPECT_EQ(code_of(Batch::adopt(arena, extent, image.size())), ErrorCode::bad_format);
  std::memcpy(extent.data, image.data(), image.size());
  EXPECT_EQ(Batch::adopt(arena, extent, image.size())->items(), 2);
  EXPECT_EQ(arena.use().extents, 0);
}

TEST(Filter, AllConditionsMustHold) {
  const Item item{bytes_of("x"), bytes_of("sensor/7")};
  EXPECT_TRUE(Filter{}.accepts_all());
  EXPECT_TRUE((Filter{.prefix = "sensor/"}.accepts(3, item)));
  EXPECT_FALSE((Filter{.prefix = "motor/"}.accepts(3, item)));
  EXPECT_TRUE((Filter{.equals = "sensor/7"}.accepts(3, item)));
  EXPECT_FALSE((Filter{.equals = "sensor/"}.accepts(3, item)));
  EXPECT_TRUE((Filter{.prefix = "sensor/", .one_in = 3}.accepts(3, item)));
  EXPECT_FALSE((Filter{.prefix = "sensor/", .one_in = 3}.accepts(4, item)));
  EXPECT_EQ(code_of(Filter{.one_in = 0}.check()), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(Filter{.prefix = std::string(kMaxMetadataBytes + 1, 'p')}.check()),
            ErrorCode::too_large);
}

class OutstandingTest : public testing::Test {
 protected:
  void ack(OffsetRange range, std::uint64_t lease) {
    outstanding.ack(
        range, lease, [](OffsetRange rest) { return rest; },
        [&](OffsetRange gone) { removed.push_back(gone); });
  }
  Outstanding outstanding;
  std::vector<OffsetRange> removed;
};

TEST_F(OutstandingTest, AnAckTakesAwayWhatIsTheLeasesOrNobodys) {
  outstanding.add({{0, 10}, 1, 1});
  outstanding.add({{10, 20}, 2, 1});
  outstanding.add({{20, 30}, Outstanding::kNobody, 1});
  ack({5, 25}, 1);
  EXPECT_EQ(removed, (std::vector<OffsetRange>{{5, 10}, {20, 25}}));
  EXPECT_EQ(outstanding.items(), 20);
  EXPECT_EQ(outstanding.first(), 0);
  EXPECT_EQ(outstanding.first_returned()->range, (OffsetRange{25, 30}));
}

TEST_F(OutstandingTest, WhatIsGivenBackIsFoundByOffset) {
  outstanding.add({{0, 10}, 1, 1});
  ack({3, 4}, 1);
  outstanding.add({{20, 30}, 2, 1});
  EXPECT_EQ(outstanding.give_back({20, 30}, 2), 1);
  EXPECT_EQ(outstanding.give_back({0, 10}, 1), 2);
  EXPECT_FALSE(outstanding.has({0, 30}, 1));
  EXPECT_EQ(outstanding.first_returned()->range, (OffsetRange{0, 3}));
  outstanding.remove(*outstanding.first_returned());
  EXPECT_EQ(outstanding.first_returned()->range, (OffsetRange{4, 10}));
}

}  // namespace
}  // namespace godwit::ref::stream
