#include "fabric/memory/segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/folder_for_test.hpp"

namespace godwit::fabric {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::size_t memory_in_use(const Fd& memory) {
  struct stat info{};
  EXPECT_EQ(::fstat(memory.get(), &info), 0);
  return static_cast<std::size_t>(info.st_blocks) * 512;
}

TEST(Segment, PeersReadWhatTheHomeWritesAndCannotWrite) {
  Segment home = Segment::create("list", kMiB).value();
  const Fd shared = home.share().value();
  const SegmentView peer = SegmentView::open(shared, kMiB).value();
  std::memcpy(home.data() + 77'777, "godwit", 6);
  EXPECT_EQ(std::memcmp(peer.data() + 77'777, "godwit", 6), 0);
  EXPECT_EQ(peer.capacity_bytes(), kMiB);
  EXPECT_EQ(peer.state_after_loads(), SegmentState::live);
  EXPECT_FALSE(map_memory(shared.get(), kPageSize + kMiB, Access::write));
  EXPECT_LT(::pwrite(shared.get(), "x", 1, kPageSize), 0);
  EXPECT_NE(::ftruncate(shared.get(), 0), 0);
}

TEST(Segment, UseOnlyGrowsUpToTheCapacity) {
  Segment home = Segment::create("list", kMiB).value();
  const SegmentView peer = SegmentView::open(home.share().value(), kMiB).value();
  EXPECT_EQ(peer.used_bytes(), 0U);
  const std::byte* const data = home.data();
  EXPECT_TRUE(home.grow(1000));
  EXPECT_TRUE(home.grow(kMiB));
  EXPECT_EQ(peer.used_bytes(), kMiB);
  EXPECT_EQ(home.data(), data);
  EXPECT_EQ(home.grow(kMiB - 1).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(home.grow(kMiB + 1).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(home.used_bytes(), kMiB);
}

TEST(Segment, RoomThatIsNotTouchedCostsNothing) {
  constexpr std::size_t kCapacity = std::size_t{64} << 30;
  const Segment home = Segment::create("sparse", kCapacity).value();
  const Fd shared = home.share().value();
  const SegmentView peer = SegmentView::open(shared, kCapacity).value();
  std::memcpy(home.data() + kCapacity - 8, "the end", 8);
  EXPECT_STREQ(reinterpret_cast<const char*>(peer.data() + kCapacity - 8), "the end");
  EXPECT_LT(memory_in_use(shared), 64 * 1024U);
}

TEST(Segment, PeersSeeEachStateAndADroppedSegmentGivesItsMemoryBack) {
  Segment home = Segment::create("list", 4 * kMiB).value();
  const Fd shared = home.share().value();
  const SegmentView peer = SegmentView::open(shared, 4 * kMiB).value();
  std::memset(home.data(), 1, 4 * kMiB);
  EXPECT_GE(memory_in_use(shared), 4 * kMiB);
  home.set_state(SegmentState::sealed);
  EXPECT_EQ(peer.state_after_loads(), SegmentState::sealed);
  home = Segment();
  EXPECT_EQ(peer.state_after_loads(), SegmentState::dropped);
  EXPECT_LE(memory_in_use(shared), kPageSize);
}

TEST(Segment, MovingOneKeepsItsMemoryWhereItIs) {
  Segment first = Segment::create("list", kMiB).value();
  const SegmentView peer = SegmentView::open(first.share().value(), kMiB).value();
  const std::byte* const data = first.data();
  Segment second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(peer.state_after_loads(), SegmentState::live);
  {
    const Segment third = std::move(second);
  }
  EXPECT_EQ(peer.state_after_loads(), SegmentState::dropped);
}

TEST(Segment, ImpossibleSizesAreRefused) {
  for (const std::size_t size : {std::size_t{0}, Segment::kMaxCapacityBytes + 1, SIZE_MAX}) {
    EXPECT_EQ(Segment::create("list", size).error().code, ErrorCode::invalid_argument);
    const Fd memory = create_memory("list", kPageSize).value();
    EXPECT_EQ(SegmentView::open(memory, size).error().code, ErrorCode::invalid_argument);
  }
  EXPECT_TRUE(Segment::create(std::string(1000, 'n'), kMiB)) << "a long name";
}

// Memory that a peer made to look like a segment, with a header of its choice.
struct Forged {
  explicit Forged(std::size_t size = kPageSize + kMiB)
      : memory(create_memory("forged", size).value()),
        mapping(map_memory(memory.get(), size, Access::write).value()),
        header(*reinterpret_cast<SegmentHeader*>(mapping.data())) {
    header.magic = SegmentHeader::kMagic;
    header.capacity_bytes = kMiB;
    header.state = 1;
  }
  [[nodiscard]] ErrorCode code() const {
    const auto view = SegmentView::open(memory, kMiB);
    return view ? ErrorCode::none : view.error().code;
  }
  Fd memory;
  Mapping mapping;
  SegmentHeader& header;
};

TEST(HostileSegment, WhatCouldHarmIsRefused) {
  EXPECT_EQ(Forged().code(), ErrorCode::none);
  EXPECT_EQ(Forged(kPageSize + kMiB - 1).code(), ErrorCode::protocol_violation) << "short";
  EXPECT_EQ(Forged(kPageSize + kMiB + 1).code(), ErrorCode::protocol_violation) << "long";
  Forged other;
  other.header.magic += 1;
  EXPECT_EQ(other.code(), ErrorCode::protocol_violation) << "of another kind";
  other.header.magic -= 1;
  other.header.capacity_bytes = 5;
  EXPECT_EQ(other.code(), ErrorCode::protocol_violation) << "of another capacity";
  const Fd shrinks(::memfd_create("shrinks", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(shrinks.get(), kPageSize + kMiB), 0);
  EXPECT_EQ(SegmentView::open(shrinks, kMiB).error().code, ErrorCode::protocol_violation);
  const Fd null(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  EXPECT_EQ(SegmentView::open(null, kMiB).error().code, ErrorCode::protocol_violation);
  EXPECT_EQ(SegmentView::open(Fd(), kMiB).error().code, ErrorCode::protocol_violation);
}

TEST(HostileSegment, AHeaderThatChangesLaterIsNotBelieved) {
  const Forged forged;
  const SegmentView peer = SegmentView::open(forged.memory, kMiB).value();
  for (const std::uint32_t state : {0U, 3U, 4U, 0xFFFF'FFFFU}) {
    forged.header.state = state;
    EXPECT_EQ(peer.state_after_loads(), SegmentState::dropped) << state;
  }
  forged.header.used_bytes = SIZE_MAX;
  forged.header.capacity_bytes = SIZE_MAX;
  EXPECT_EQ(peer.used_bytes(), kMiB);
  EXPECT_EQ(peer.capacity_bytes(), kMiB);
}

class SegmentInFile : public ::testing::Test {
 protected:
  [[nodiscard]] Fd file() const {
    return Fd(::open((directory_ / "list.0").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
  TestFolder directory_;
};

TEST_F(SegmentInFile, DataOutlivesTheSegment) {
  {
    Segment home = Segment::in_file(file(), kMiB).value();
    EXPECT_EQ(home.used_bytes(), 0U);
    ASSERT_TRUE(home.grow(100'000));
    std::memcpy(home.data() + 99'990, "remember", 8);
    home.set_state(SegmentState::sealed);
  }
  const Segment home = Segment::in_file(file(), kMiB).value();
  EXPECT_EQ(std::memcmp(home.data() + 99'990, "remember", 8), 0);
  EXPECT_EQ(home.used_bytes(), 100'000U);
  EXPECT_EQ(home.state(), SegmentState::sealed);
}

TEST_F(SegmentInFile, WhatIsInUseHasItsPlaceOnTheDisk) {
  Segment home = Segment::in_file(file(), 16 * kMiB).value();
  EXPECT_LT(memory_in_use(file()), kMiB);
  ASSERT_TRUE(home.grow(8 * kMiB));
  EXPECT_GE(memory_in_use(file()), 8 * kMiB);
  EXPECT_LT(memory_in_use(file()), 9 * kMiB);
}

TEST_F(SegmentInFile, PeersDoNotMapFiles) {
  const Segment home = Segment::in_file(file(), kMiB).value();
  EXPECT_EQ(home.share().error().code, ErrorCode::unsupported);
  EXPECT_EQ(SegmentView::open(file(), kMiB).error().code, ErrorCode::protocol_violation);
}

TEST_F(SegmentInFile, FilesOfAnotherKindAreLeftAlone) {
  {
    ASSERT_TRUE(Segment::in_file(file(), kMiB));
  }
  EXPECT_EQ(Segment::in_file(file(), 2 * kMiB).error().code, ErrorCode::bad_format);
  ASSERT_EQ(::pwrite(file().get(), "somebody's", 10, 0), 10);
  EXPECT_EQ(Segment::in_file(file(), kMiB).error().code, ErrorCode::bad_format);
  char text[11] = {};
  ASSERT_EQ(::pread(file().get(), text, 10, 0), 10);
  EXPECT_STREQ(text, "somebody's");
  EXPECT_EQ(Segment::in_file(create_memory("memory", kMiB).value(), 0).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(Segment::in_file(Fd(::open("/dev/zero", O_RDWR | O_CLOEXEC)), kMiB).error().code,
            ErrorCode::bad_format);
}

}  // namespace
}  // namespace godwit::fabric
