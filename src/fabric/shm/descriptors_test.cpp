// Messages with open descriptors.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "fabric/memory/life_word.hpp"
#include "fabric/memory/segment.hpp"
#include "fabric/shm/test_peer.hpp"
#include "fabric/test_child.hpp"

namespace godwit::fabric::shm {
namespace {

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class ShmDescriptorsTest : public ::testing::Test {
 protected:
  ShmDescriptorsTest() { EXPECT_TRUE(server_.transport->listen(directory_.socket())); }

  void link_up() {
    ASSERT_TRUE(client_.transport->connect(directory_.socket()));
    ASSERT_TRUE(
        until({&client_, &server_}, [&] { return !client_.ups.empty() && !server_.ups.empty(); }));
  }
  [[nodiscard]] static Status send(Peer& from, std::uint64_t id, std::string_view body,
                                   std::vector<int> descriptors) {
    const wire::Header header{.kind = static_cast<wire::Kind>(41), .aux = 7, .id = id};
    return from.transport->send_descriptors(from.ups.at(0), header, bytes_of(body), descriptors);
  }

  ScratchDirectory directory_;
  Peer server_;
  Peer client_;
  Fd memory_ = create_memory("test", kPageSize).value();
};

TEST_F(ShmDescriptorsTest, ArriveWithTheirMessageInBothDirections) {
  link_up();
  const std::string long_body(kMaxDescriptorBody, 'l');
  for (auto [from, to] : {std::pair{&client_, &server_}, std::pair{&server_, &client_}}) {
    ASSERT_TRUE(send(*from, 1, "one", {memory_.get()}));
    ASSERT_TRUE(send(*from, 2, long_body, std::vector<int>(kMaxDescriptors, memory_.get())));
    ASSERT_TRUE(send(*from, 3, "", {memory_.get(), memory_.get()}));
    ASSERT_TRUE(until({&client_, &server_}, [&] { return to->descriptors_received.size() == 3; }));
    const auto& got = to->descriptors_received;
    EXPECT_EQ(got[0].header.kind, static_cast<wire::Kind>(41));
    EXPECT_EQ(got[0].header.id, 1U);
    EXPECT_EQ(got[0].header.aux, 7U);
    EXPECT_EQ(got[0].link, to->ups[0]);
    EXPECT_EQ(got[0].body, "one");
    EXPECT_EQ(got[1].body, long_body);
    EXPECT_EQ(got[1].descriptors.size(), kMaxDescriptors);
    EXPECT_EQ(got[2].body, "");
    EXPECT_EQ(got[2].descriptors.size(), 2U);
    for (const auto& message : got) {
      for (const Fd& fd : message.descriptors)
        EXPECT_TRUE(check_memory(fd.get(), kPageSize)) << "another descriptor than the one sent";
    }
  }
}

TEST_F(ShmDescriptorsTest, SentAtOnceWaitUntilTheLinkIsAnnounced) {
  for (std::uint64_t round = 0; round < 50; ++round) {
    Peer client;
    server_.ups.clear();
    ASSERT_TRUE(client.transport->connect(directory_.socket()));
    ASSERT_TRUE(until({&server_, &client}, [&] { return !server_.ups.empty(); }));
    ASSERT_TRUE(send(server_, round, "early", {memory_.get()}));
    ASSERT_TRUE(until({&client, &server_}, [&] { return !client.descriptors_received.empty(); }));
    EXPECT_EQ(client.descriptors_received[0].header.id, round);
  }
}

TEST_F(ShmDescriptorsTest, SentBeforeACloseArriveBeforeTheEnd) {
  link_up();
  for (std::uint64_t id = 0; id < 20; ++id)
    ASSERT_TRUE(send(client_, id, std::string(4096, 'x'), {memory_.get()}));
  client_.transport->close(client_.ups[0]);
  ASSERT_TRUE(until({&client_, &server_},
                    [&] { return !server_.downs.empty() && !client_.downs.empty(); }));
  EXPECT_EQ(server_.downs[0].second.code, ErrorCode::none);
  EXPECT_EQ(server_.descriptors_received.size(), 20U);
}

TEST_F(ShmDescriptorsTest, MisuseIsAnErrorAndTheLinkStays) {
  link_up();
  const auto code = [](const Status& status) {
    return status ? ErrorCode::none : status.error().code;
  };
  EXPECT_EQ(code(send(client_, 1, "none", {})), ErrorCode::invalid_argument);
  EXPECT_EQ(code(send(client_, 1, "many", std::vector<int>(kMaxDescriptors + 1, memory_.get()))),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code(send(client_, 1, std::string(kMaxDescriptorBody + 1, 'x'), {memory_.get()})),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code(send(client_, 1, "closed", {memory_.get(), -1})), ErrorCode::invalid_argument);
  EXPECT_EQ(code(client_.transport->send_descriptors(LinkId{12345}, {}, {},
                                                     std::vector<int>{memory_.get()})),
            ErrorCode::link_lost);
  ASSERT_TRUE(send(client_, 2, "good", {memory_.get()}));
  ASSERT_TRUE(until({&client_, &server_}, [&] { return !server_.descriptors_received.empty(); }));
  EXPECT_EQ(server_.descriptors_received[0].body, "good");
  EXPECT_TRUE(client_.downs.empty());
}

TEST_F(ShmDescriptorsTest, PeerThatTakesNoneHoldsUpAFewAndLosesNone) {
  link_up();
  const std::size_t open_before = open_descriptors();
  std::uint64_t accepted = 0;
  Status status;
  while (accepted < 10'000 && (status = send(client_, accepted, "body", {memory_.get()})))
    ++accepted;
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::overload);
  EXPECT_GE(accepted, 32U);
  EXPECT_LE(accepted, 1'000U);
  EXPECT_LE(open_descriptors(), open_before + 2);
  ASSERT_TRUE(
      until({&client_, &server_}, [&] { return server_.descriptors_received.size() == accepted; }));
  for (std::uint64_t id = 0; id < accepted; ++id)
    EXPECT_EQ(server_.descriptors_received[id].header.id, id);
  EXPECT_TRUE(send(client_, accepted, "again", {memory_.get()}));
}

TEST_F(ShmDescriptorsTest, ThatNobodyTakesAreClosed) {
  link_up();
  const std::size_t open_before = open_descriptors();
  for (int round = 0; round < 100; ++round) {
    ASSERT_TRUE(send(client_, 1, "", std::vector<int>(kMaxDescriptors, memory_.get())));
    ASSERT_TRUE(until({&client_, &server_}, [&] { return !server_.descriptors_received.empty(); }));
    server_.descriptors_received.clear();
  }
  EXPECT_LE(open_descriptors(), open_before);
}

TEST_F(ShmDescriptorsTest, WakeAPeerThatSleeps) {
  Peer sleeper({}, {.spin_us = 0});
  ASSERT_TRUE(sleeper.transport->listen(directory_.socket("sleeper.sock")));
  ASSERT_TRUE(sleeper.reactor->start());
  ASSERT_TRUE(client_.transport->connect(directory_.socket("sleeper.sock")));
  ASSERT_TRUE(until({&client_}, [&] { return !client_.ups.empty(); }));
  for (std::size_t round = 1; round <= 20; ++round) {
    ASSERT_TRUE(send(client_, round, "wake up", {memory_.get()}));
    ASSERT_TRUE(until({&client_}, [&] { return sleeper.descriptor_messages == round; }));
  }
  sleeper.reactor->stop();
}

// What regions do: a node's memory, read with plain loads by another process until the node dies.
TEST(ShmDescriptorsProcess, MemoryOfANodeIsReadUntilTheNodeIsKilled) {
  constexpr std::size_t kSize = 1 << 20;
  for (int round = 0; round < 20; ++round) {
    const ScratchDirectory directory;
    ChildProcess node([&] {
      Peer peer;
      const auto life = LifeWord::create().value();
      Segment memory = Segment::create("shard", kSize).value();
      std::memcpy(memory.data(), "shard", 6);
      const Fd shared = memory.share().value();
      const Fd page = life->share().value();
      peer.on_message_hook = [&](LinkId link, Message& message) {
        const int descriptors[] = {shared.get(), page.get()};
        if (!peer.transport->send_descriptors(link, message.header(), {}, descriptors)) ::_exit(1);
      };
      if (!peer.transport->listen(directory.socket())) ::_exit(1);
      while (true) (void)until({&peer}, [] { return false; });
    });
    Peer client;
    std::size_t attempts = 0;
    ASSERT_TRUE(until({&client}, [&] {
      if (client.ups.empty() && client.downs.size() == attempts) {
        ++attempts;
        EXPECT_TRUE(client.transport->connect(directory.socket()));
      }
      return !client.ups.empty();
    }));
    client.downs.clear();
    ASSERT_EQ(client.send(client.ups[0], 5, {}), Sent::now);
    ASSERT_TRUE(until({&client}, [&] { return !client.descriptors_received.empty(); }));
    const auto& answer = client.descriptors_received[0];
    ASSERT_EQ(answer.descriptors.size(), 2U);
    const SegmentView memory = SegmentView::open(answer.descriptors[0], kSize).value();
    const PeerLife life = PeerLife::open(answer.descriptors[1]).value();
    EXPECT_STREQ(reinterpret_cast<const char*>(memory.data()), "shard");
    EXPECT_TRUE(life.alive_after_loads());
    ::kill(node.pid(), SIGKILL);
    ASSERT_TRUE(until({&client}, [&] { return !client.downs.empty(); }));
    EXPECT_STREQ(reinterpret_cast<const char*>(memory.data()), "shard") << "it is still mapped";
    EXPECT_FALSE(life.alive_after_loads()) << round;
  }
}

}  // namespace
}  // namespace godwit::fabric::shm
