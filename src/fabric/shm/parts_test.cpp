// The pieces below the transport: ring and doorbell.
#include <gtest/gtest.h>

#include <cstring>

#include "fabric/shm/doorbell.hpp"
#include "fabric/shm/ring.hpp"

namespace godwit::fabric::shm {
namespace {

struct Ring {
  Ring() : in(RingConsumer::create(kMinRingSize).value()) {
    const Fd memory = in.share().value();
    out = RingProducer::open(memory, kMinRingSize).value();
  }
  void write(std::size_t size, char fill) {
    const std::string text(size, fill);
    const Bytes part = bytes_of(text);
    out.write({}, {&part, 1}, {static_cast<std::uint32_t>(size), RecordKind::message, 0});
  }
  RingConsumer in;
  RingProducer out;
};

TEST(Ring, WrapsWithoutTearingRecords) {
  Ring ring;
  for (std::size_t i = 0; i < 10'000; ++i) {
    const std::size_t size = i * 37 % max_record_body(kMinRingSize);
    ASSERT_TRUE(ring.out.has_room(size));
    EXPECT_EQ(ring.in.peek(), 0U);
    ring.write(size, static_cast<char>('a' + i % 26));
    RecordWord word;
    ASSERT_TRUE(RecordWord::unpack(ring.in.peek(), word));
    ASSERT_EQ(word.size, size);
    const char* body = reinterpret_cast<const char*>(ring.in.record()) + kBodyOffset;
    ASSERT_EQ(std::string_view(body, size), std::string(size, static_cast<char>('a' + i % 26)));
    (void)ring.in.advance(size);
  }
}

TEST(Ring, FullRingSaysSoUntilSpaceIsHandedBack) {
  Ring ring;
  std::size_t written = 0;
  for (; ring.out.has_room(1000); ++written) ring.write(1000, 'x');
  EXPECT_GE(written, (kMinRingSize - 2 * kLineSize) / record_size(1000));
  for (std::size_t i = 0; i < written; ++i) {
    ASSERT_NE(ring.in.peek(), 0U) << i;
    (void)ring.in.advance(1000);
  }
  EXPECT_EQ(ring.in.peek(), 0U);
  EXPECT_TRUE(ring.out.has_room(1000));
}

TEST(Ring, WaitingProducerIsReportedOnceSpaceIsHandedBack) {
  Ring ring;
  while (ring.out.has_room(1000)) ring.write(1000, 'x');
  ring.out.want_space(true);
  int reported = 0;
  while (ring.in.peek() != 0) reported += ring.in.advance(1000) ? 1 : 0;
  EXPECT_EQ(reported, 1);
}

TEST(Ring, ConsumerThatHandsAllBackShowsThatNothingIsLeft) {
  Ring ring;
  EXPECT_TRUE(ring.out.is_drained());
  ring.write(100, 'x');
  EXPECT_FALSE(ring.out.is_drained());
  EXPECT_FALSE(ring.in.hand_back_all());
  EXPECT_FALSE(ring.out.is_drained()) << "it has taken nothing";
  ASSERT_FALSE(ring.in.advance(100));
  EXPECT_FALSE(ring.out.is_drained()) << "it has not said so";
  EXPECT_FALSE(ring.in.hand_back_all());
  EXPECT_TRUE(ring.out.is_drained());
  while (ring.out.has_room(1000)) ring.write(1000, 'x');
  ring.out.want_space(true);
  ASSERT_FALSE(ring.in.advance(1000));
  EXPECT_TRUE(ring.in.hand_back_all()) << "somebody waits for the space";
}

TEST(Doorbell, ColdLinksAreMarkedAndHotOnesAreNot) {
  Doorbell bell = Doorbell::create().value();
  PeerDoorbell peer = PeerDoorbell::open(bell.share().value(), 70).value();
  peer.notify();
  EXPECT_TRUE(bell.any_ready());
  EXPECT_EQ(bell.take_ready(0), 0U);
  EXPECT_EQ(bell.take_ready(1), std::uint64_t{1} << 6);
  EXPECT_FALSE(bell.any_ready());
  bell.set_cold(70, false);
  peer.notify();
  EXPECT_FALSE(bell.any_ready());
  peer.summon();
  EXPECT_TRUE(bell.any_ready());
}

TEST(Doorbell, SleeperIsRungOncePerSleep) {
  Doorbell bell = Doorbell::create().value();
  PeerDoorbell peer = PeerDoorbell::open(bell.share().value(), 0).value();
  std::uint64_t rings = 0;
  const auto taken = [&] {
    return ::read(bell.event().get(), &rings, sizeof rings) == sizeof rings ? rings : 0;
  };
  peer.notify();
  EXPECT_EQ(taken(), 0U);
  for (int sleep = 0; sleep < 3; ++sleep) {
    bell.fall_asleep();
    for (int i = 0; i < 5; ++i) peer.notify();
    EXPECT_EQ(taken(), 1U);
    bell.wake_up();
    peer.notify();
    EXPECT_EQ(taken(), 0U);
  }
}

TEST(Doorbell, PeersCannotWriteTheState) {
  Doorbell bell = Doorbell::create().value();
  const auto fds = bell.share().value();
  EXPECT_FALSE(map_memory(fds[0].get(), kPageSize, Access::write));
  EXPECT_TRUE(map_memory(fds[0].get(), kPageSize, Access::read));
}

}  // namespace
}  // namespace godwit::fabric::shm
