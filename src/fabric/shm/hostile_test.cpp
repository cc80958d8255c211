// Peers that hold the key and still do not keep the protocol.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/seeds_for_test.hpp"
#include "fabric/shm/test_peer.hpp"

namespace godwit::fabric::shm {
namespace {

// Makes a link like any client and then writes what it likes into the server's ring.
class HostilePeer {
 public:
  HostilePeer()
      : reactor_(Reactor::create({.spin_us = 0}).value()),
        ring_(RingConsumer::create(kMinRingSize).value()),
        doorbell_(Doorbell::create().value()) {}

  [[nodiscard]] SetupPayload good_payload() {
    SetupPayload payload;
    payload.data = std::string("shm1", 4) + std::string(12, '\0');
    const std::uint64_t size = kMinRingSize;
    std::memcpy(payload.data.data() + 8, &size, 8);
    payload.fds.push_back(ring_.share().value());
    std::vector<Fd> bell = doorbell_.share().value();
    for (Fd& fd : bell) payload.fds.push_back(std::move(fd));
    return payload;
  }
  // Empty: the server refused.
  void connect(Peer& server, const Address& address, SetupPayload payload) {
    link_.reset();
    std::optional<Result<Established>> result;
    auto setup =
        LinkSetup::as_client(*reactor_, address, {}, std::move(payload),
                             [&](Result<Established> link) { result.emplace(std::move(link)); });
    ASSERT_TRUE(setup);
    ASSERT_TRUE(until({&server}, [&] {
      reactor_->run_once();
      return result.has_value();
    }));
    if (!*result) return;
    link_.emplace(**std::move(result));
    std::uint64_t ring_size = 0;
    std::uint32_t slot = 0;
    std::memcpy(&slot, link_->payload.data.data() + 4, 4);
    std::memcpy(&ring_size, link_->payload.data.data() + 8, 8);
    memory_ = map_ring(link_->payload.fds[0].get(), ring_size, Access::write).value();
    std::vector<Fd> bell(std::make_move_iterator(link_->payload.fds.begin() + 1),
                         std::make_move_iterator(link_->payload.fds.end()));
    bell_ = PeerDoorbell::open(std::move(bell), slot).value();
    ASSERT_TRUE(until({&server}, [&] { return !server.ups.empty(); }));
  }
  [[nodiscard]] bool is_linked() const { return link_.has_value(); }
  // The control socket of the link.
  ControlSocket& socket() { return *link_->socket; }
  void turn() { reactor_->run_once(); }
  std::byte* record(std::size_t offset = 0) { return memory_.data() + kPageSize + offset; }
  // Of the ring that the server writes to.
  RingHeader& own_header() {
    const Fd memory = ring_.share().value();
    own_ = map_memory(memory.get(), kPageSize + kMinRingSize, Access::write).value();
    return *reinterpret_cast<RingHeader*>(own_.data());
  }
  void publish(std::uint64_t word, std::size_t offset = 0) {
    word_at(record(offset)).store(word, std::memory_order_release);
    bell_.summon();
  }

 private:
  std::unique_ptr<Reactor> reactor_;
  RingConsumer ring_;
  Doorbell doorbell_;
  std::optional<Established> link_;
  Mapping memory_;
  Mapping own_;
  PeerDoorbell bell_;
};

class HostilePeerTest : public ::testing::Test {
 protected:
  HostilePeerTest() { EXPECT_TRUE(server_.transport->listen(directory_.socket())); }

  void expect_violation(std::vector<std::pair<std::size_t, std::uint64_t>> words,
                        const std::function<void(HostilePeer&)>& prepare = {}) {
    server_.ups.clear();
    server_.downs.clear();
    HostilePeer hostile;
    ASSERT_NO_FATAL_FAILURE(hostile.connect(server_, directory_.socket(), hostile.good_payload()));
    if (prepare) prepare(hostile);
    for (auto [offset, word] : words) hostile.publish(word, offset);
    ASSERT_TRUE(until({&server_}, [&] { return !server_.downs.empty(); }));
    EXPECT_EQ(server_.downs[0].second.code, ErrorCode::protocol_violation);
  }
  void expect_still_serving() {
    server_.ups.clear();
    Peer client;
    ASSERT_TRUE(client.transport->connect(directory_.socket()));
    ASSERT_TRUE(
        until({&client, &server_}, [&] { return !client.ups.empty() && !server_.ups.empty(); }));
    server_.received.clear();
    ASSERT_EQ(client.send(client.ups[0], 5, pattern(10, 1)), Sent::now);
    ASSERT_TRUE(until({&client, &server_}, [&] { return !server_.received.empty(); }));
  }

  ScratchDirectory directory_;
  Peer server_;
};

constexpr std::uint64_t word(RecordKind kind, std::uint32_t size, std::uint8_t stream = 0) {
  return RecordWord{size, kind, stream}.pack();
}

TEST_F(HostilePeerTest, WordsThatAreNoRecordsEndTheLink) {
  expect_violation({{0, 1}});
  expect_violation({{0, ~std::uint64_t{0}}});
  expect_violation({{0, word(static_cast<RecordKind>(9), 8)}});
  expect_violation({{0, word(static_cast<RecordKind>(0), 8)}});
  expect_violation({{0, word(RecordKind::message, 0xFFFF'FFFF)}});
  expect_violation({{0, word(RecordKind::message, 65'536)}});
  expect_violation({{0, word(RecordKind::message, kSmallLimit + 1)}});
  expect_violation({{0, word(RecordKind::begin, 8, 200)}});
  expect_still_serving();
}

TEST_F(HostilePeerTest, StreamsOutOfOrderEndTheLink) {
  const auto announce = [](std::uint64_t size) {
    return [size](HostilePeer& peer) { std::memcpy(peer.record() + kBodyOffset, &size, 8); };
  };
  expect_violation({{0, word(RecordKind::data, 100)}});
  expect_violation({{0, word(RecordKind::begin, 7)}});
  expect_violation({{0, word(RecordKind::begin, 8)}}, announce(0));
  expect_violation({{0, word(RecordKind::begin, 8)}, {64, word(RecordKind::data, 101)}},
                   announce(100));
  expect_violation({{0, word(RecordKind::begin, 8)}, {64, word(RecordKind::data, 0)}},
                   announce(100));
  expect_violation({{0, word(RecordKind::begin, 8)}, {64, word(RecordKind::begin, 8)}},
                   announce(100));
  expect_still_serving();
}

TEST_F(HostilePeerTest, BodyOfAnAbsurdSizeIsDiscardedNotAllocated) {
  HostilePeer hostile;
  ASSERT_NO_FATAL_FAILURE(hostile.connect(server_, directory_.socket(), hostile.good_payload()));
  const std::uint64_t size = ~std::uint64_t{0};
  std::memcpy(hostile.record() + kBodyOffset, &size, 8);
  hostile.publish(word(RecordKind::begin, 8));
  hostile.publish(word(RecordKind::data, 1000), 64);
  for (int i = 0; i < 100; ++i) server_.reactor->run_once();
  EXPECT_TRUE(server_.downs.empty());
  expect_still_serving();
}

TEST_F(HostilePeerTest, SpaceThatWasNeverUsedCannotBeHandedBack) {
  HostilePeer hostile;
  ASSERT_NO_FATAL_FAILURE(hostile.connect(server_, directory_.socket(), hostile.good_payload()));
  hostile.own_header().head.store(1 << 30);
  const auto body = pattern(1000, 1);
  for (int i = 0; i < 200; ++i) (void)server_.send(server_.ups[0], 1, body);
  ASSERT_TRUE(until({&server_}, [&] { return !server_.downs.empty(); }));
  EXPECT_EQ(server_.downs[0].second.code, ErrorCode::protocol_violation);
  expect_still_serving();
}

TEST_F(HostilePeerTest, RandomRecordsNeverDoMoreThanEndTheLink) {
  const Seed seed(11);
  std::mt19937_64 random(seed.value());
  for (int round = 0; round < 100; ++round) {
    server_.ups.clear();
    server_.downs.clear();
    HostilePeer hostile;
    ASSERT_NO_FATAL_FAILURE(hostile.connect(server_, directory_.socket(), hostile.good_payload()));
    for (std::size_t offset = 0; offset < kMinRingSize; offset += 8) {
      const std::uint64_t noise = random();
      std::memcpy(hostile.record(offset), &noise, 8);
    }
    // Plausible words, so that checks beyond the mark are reached.
    for (std::size_t offset = 0; offset < kMinRingSize; offset += kLineSize)
      word_at(hostile.record(offset))
          .store(word(static_cast<RecordKind>(1 + random() % 3),
                      static_cast<std::uint32_t>(random() % (round % 2 == 0 ? 200 : 30'000)),
                      static_cast<std::uint8_t>(random() % kMaxStreams)));
    hostile.publish(word(RecordKind::message, 64));
    ASSERT_TRUE(until({&server_}, [&] { return !server_.downs.empty(); })) << round;
  }
  server_.received.clear();
  expect_still_serving();
}

TEST_F(HostilePeerTest, FramesThatAreNoMessagesWithDescriptorsEndTheLink) {
  const Fd memory = create_memory("hostile", kPageSize).value();
  struct Frame {
    const char* what;
    std::size_t size;
    std::size_t descriptors;
  };
  for (const Frame& frame :
       {Frame{"one byte", 1, 1}, Frame{"half a header", 31, 8},
        Frame{"a body too large", sizeof(wire::Header) + kMaxDescriptorBody + 1, 1},
        Frame{"the largest frame", ControlSocket::kMaxFrameSize, 8},
        Frame{"no descriptors", sizeof(wire::Header), 0}, Frame{"neither", 1, 0}}) {
    server_.ups.clear();
    server_.downs.clear();
    HostilePeer hostile;
    ASSERT_NO_FATAL_FAILURE(hostile.connect(server_, directory_.socket(), hostile.good_payload()));
    const std::string bytes(frame.size, 'h');
    hostile.socket().send(bytes_of(bytes), std::vector<int>(frame.descriptors, memory.get()));
    ASSERT_TRUE(until({&server_}, [&] { return !server_.downs.empty(); })) << frame.what;
    EXPECT_EQ(server_.downs[0].second.code, ErrorCode::protocol_violation) << frame.what;
    EXPECT_TRUE(server_.descriptors_received.empty()) << frame.what;
  }
  expect_still_serving();
}

TEST_F(HostilePeerTest, AFloodOfDescriptorsLeavesOthersTheirTurnAndNothingBehind) {
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const Fd memory = create_memory("hostile", kPageSize).value();
  const std::string frame(sizeof(wire::Header), '\xFF');
  const auto open_before = open_descriptors();
  {
    HostilePeer hostile;
    ASSERT_NO_FATAL_FAILURE(hostile.connect(server_, directory_.socket(), hostile.good_payload()));
    Peer client;
    ASSERT_TRUE(client.transport->connect(directory_.socket()));
    ASSERT_TRUE(until({&client, &server_}, [&] { return !client.ups.empty(); }));
    std::size_t flood = 0;
    for (std::uint64_t id = 0; id < 100; ++id) {
      ASSERT_EQ(client.send(client.ups[0], id, {}), Sent::now);
      // The flood never lets up, and yet each message arrives within a few turns.
      std::size_t turns = 0;
      for (; server_.received.size() <= id && turns < 1'000; ++turns) {
        if (!hostile.socket().has_queued_frames())
          hostile.socket().send(bytes_of(frame), std::vector<int>(8, memory.get()));
        hostile.turn();
        client.reactor->run_once();
        server_.reactor->run_once();
        flood += server_.descriptors_received.size();
        server_.descriptors_received.clear();
      }
      ASSERT_LT(turns, 1'000U) << id;
    }
    EXPECT_TRUE(until({&server_}, [&] {
      flood += server_.descriptors_received.size();
      server_.descriptors_received.clear();
      return flood >= 100;
    }));
    EXPECT_TRUE(server_.downs.empty());
  }
  ASSERT_TRUE(until({&server_}, [&] { return server_.downs.size() == 2; }));
  server_.descriptors_received.clear();
  EXPECT_LE(open_descriptors(), open_before);
  expect_still_serving();
}

TEST_F(HostilePeerTest, SetUpsThatCouldHarmAreRefused) {
  HostilePeer hostile;
  const auto refused = [&](SetupPayload payload) {
    hostile.connect(server_, directory_.socket(), std::move(payload));
    return !hostile.is_linked();
  };
  SetupPayload payload = hostile.good_payload();
  payload.fds.pop_back();
  EXPECT_TRUE(refused(std::move(payload))) << "a descriptor is missing";
  payload = hostile.good_payload();
  payload.data.resize(8);
  EXPECT_TRUE(refused(std::move(payload))) << "the data is short";
  payload = hostile.good_payload();
  payload.data[0] = 'x';
  EXPECT_TRUE(refused(std::move(payload))) << "unknown kind";
  payload = hostile.good_payload();
  const std::uint32_t slot = kMaxLinks;
  std::memcpy(payload.data.data() + 4, &slot, 4);
  EXPECT_TRUE(refused(std::move(payload))) << "no such link number";
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{kMinRingSize} * 2,
                                   std::uint64_t{100'000}, ~std::uint64_t{0}}) {
    payload = hostile.good_payload();
    std::memcpy(payload.data.data() + 8, &size, 8);
    EXPECT_TRUE(refused(std::move(payload))) << "a ring of " << size;
  }
  payload = hostile.good_payload();
  payload.fds[0] = Fd(::memfd_create("shrinks", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(payload.fds[0].get(), kPageSize + kMinRingSize), 0);
  EXPECT_TRUE(refused(std::move(payload))) << "memory that may shrink";
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const Fd read_end(pipe[0]);
  payload = hostile.good_payload();
  payload.fds[3] = Fd(pipe[1]);
  EXPECT_TRUE(refused(std::move(payload))) << "a pipe for an eventfd";
  EXPECT_FALSE(refused(hostile.good_payload()));
  expect_still_serving();
}

}  // namespace
}  // namespace godwit::fabric::shm
