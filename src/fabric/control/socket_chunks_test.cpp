#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fabric/control/socket.hpp"

namespace godwit::fabric {
namespace {

using std::chrono::milliseconds;

// Takes chunks of the streams it knows, one after another into the stream's text.
struct Receiver final : ControlEvents {
  void on_frame(Bytes frame, std::vector<Fd>&) override { frames.emplace_back(text_of(frame)); }
  void on_closed(const Error& why) override {
    ++closed;
    error = why;
  }
  MutableBytes on_chunk(std::uint64_t stream, std::size_t size) override {
    const auto it = streams.find(stream);
    if (it == streams.end()) return {};
    const std::size_t before = it->second.size();
    it->second.resize(before + size - std::min(size, short_by));
    return std::as_writable_bytes(std::span(it->second)).subspan(before);
  }
  void on_chunk_end(std::uint64_t stream) override { ends.push_back(stream); }
  Status on_notice(Bytes notice) override {
    notices.emplace_back(text_of(notice));
    if (refuses_notices) return tl::unexpected(Error{ErrorCode::out_of_memory, "no memory"});
    return {};
  }

  std::map<std::uint64_t, std::string> streams;
  std::vector<std::uint64_t> ends;
  std::vector<std::string> frames;
  std::vector<std::string> notices;
  bool refuses_notices = false;
  std::size_t short_by = 0;
  int closed = 0;
  Error error;
};

std::string pattern(std::size_t size, std::size_t seed) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 7 + (i >> 9)) + seed);
  return text;
}

class SocketChunks : public ::testing::Test {
 protected:
  SocketChunks() : reactor_(Reactor::create({.spin_us = 0}).value()) { connect(); }

  void connect() {
    at_a_ = {};
    at_b_ = {};
    const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener.get(), generic, size), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), generic, &size), 0);
    Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(client.get(), generic, size), 0);
    Fd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    raw_ = client.get();
    a_ = ControlSocket::adopt(*reactor_, std::move(client), "b", &at_a_).value();
    b_ = ControlSocket::adopt(*reactor_, std::move(server), "a", &at_b_).value();
  }

  bool until(const std::function<bool()>& condition, milliseconds limit = milliseconds(10'000)) {
    const Time deadline = reactor_->now() + limit;
    while (!condition() && reactor_->now() < deadline) {
      if (moves_by_hand_) {
        (void)a_->move_chunks(false);
        (void)b_->move_chunks(true);
      }
      reactor_->run_once();
    }
    return condition();
  }
  void send(std::uint64_t stream, std::string_view text) {
    const Bytes part = bytes_of(text);
    a_->send_chunk(stream, {&part, 1});
  }

  std::unique_ptr<Reactor> reactor_;
  Receiver at_a_;
  Receiver at_b_;
  std::unique_ptr<ControlSocket> a_;
  std::unique_ptr<ControlSocket> b_;
  int raw_ = -1;  // a's descriptor
  bool moves_by_hand_ = false;
};

TEST_F(SocketChunks, ArriveWholeAmongFramesWhoeverMovesThem) {
  for (const bool by_hand : {false, true}) {
    moves_by_hand_ = by_hand;
    at_b_ = {};
    at_b_.streams = {{1, ""}, {2, ""}};
    std::string expected[3];
    std::size_t chunks = 0;
    for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{1500},
                                   ControlSocket::kMaxChunkSize, std::size_t{77'777}}) {
      for (const std::uint64_t stream : {1U, 2U}) {
        const std::string text = pattern(size, stream);
        expected[stream] += text;
        a_->send(bytes_of("before"));
        send(stream, text);
        a_->send(bytes_of("after"));
        ++chunks;
        ASSERT_TRUE(until([&] { return at_b_.ends.size() == chunks; }));
        EXPECT_FALSE(a_->chunk_is_going_out());
      }
    }
    ASSERT_TRUE(until([&] { return at_b_.frames.size() == 2 * chunks; }));
    EXPECT_TRUE(at_b_.streams[1] == expected[1]);
    EXPECT_TRUE(at_b_.streams[2] == expected[2]);
  }
}

TEST_F(SocketChunks, PartsOfAChunkArriveTogether) {
  at_b_.streams = {{9, ""}};
  const std::string text = pattern(ControlSocket::kMaxChunkSize, 3);
  std::vector<Bytes> parts;
  for (std::size_t i = 0; i < ControlSocket::kMaxChunkParts; ++i) {
    constexpr std::size_t kSize = ControlSocket::kMaxChunkSize / ControlSocket::kMaxChunkParts;
    parts.push_back(bytes_of(std::string_view(text).substr(i * kSize, kSize)));
  }
  a_->send_chunk(9, parts);
  ASSERT_TRUE(until([&] { return at_b_.ends.size() == 1; }));
  EXPECT_TRUE(at_b_.streams[9] == text);
}

TEST_F(SocketChunks, AChunkThatTheSocketDoesNotTakeAtOnceGoesOnWhenItCan) {
  at_b_.streams = {{1, ""}};
  const std::string text = pattern(ControlSocket::kMaxChunkSize, 1);
  std::size_t sent = 0;
  while (!a_->chunk_is_going_out() && sent < 1000) {  // nobody reads meanwhile
    send(1, text);
    ++sent;
  }
  ASSERT_TRUE(a_->chunk_is_going_out()) << "the sockets take everything";
  a_->send(bytes_of("behind it"));
  ASSERT_TRUE(until([&] { return at_b_.frames.size() == 1; }));
  EXPECT_EQ(at_b_.ends.size(), sent);
  EXPECT_EQ(at_b_.streams[1].size(), sent * text.size());
  EXPECT_TRUE(at_b_.streams[1].ends_with(text));
}

TEST_F(SocketChunks, ANoticeIsThereBeforeItsChunk) {
  const std::string notice = pattern(ControlSocket::kMaxNoticeSize, 5);
  const std::string text = pattern(100'000, 6);
  const Bytes part = bytes_of(text);
  for (std::size_t i = 1; i <= 20; ++i) {
    at_b_.streams = {{i, ""}};
    a_->send(bytes_of("before"));
    a_->send_chunk(i, {&part, 1}, bytes_of(notice).first(notice.size() - i));
    ASSERT_TRUE(until([&] { return at_b_.ends.size() == i; }));
    EXPECT_EQ(at_b_.notices.size(), i);
    EXPECT_EQ(at_b_.notices.back(), notice.substr(0, notice.size() - i));
    EXPECT_TRUE(at_b_.streams[i] == text);
  }
}

TEST_F(SocketChunks, ANoticeThatIsRefusedEndsTheSocketWithTheReason) {
  at_b_.refuses_notices = true;
  const Bytes part = bytes_of("text");
  a_->send_chunk(1, {&part, 1}, bytes_of("notice"));
  ASSERT_TRUE(until([&] { return at_b_.closed == 1; }));
  EXPECT_EQ(at_b_.error.code, ErrorCode::out_of_memory) << at_b_.error.message;
}

TEST_F(SocketChunks, ANoticeBeyondTheLimitEndsTheSocket) {
  for (const std::uint32_t size : {std::uint32_t{0}, std::uint32_t{65}, std::uint32_t{0xFFFFFF}}) {
    connect();
    const std::uint32_t word = size | std::uint32_t{ControlSocket::kNoticeMark} << 24;
    ASSERT_EQ(::write(raw_, &word, sizeof word), static_cast<ssize_t>(sizeof word));
    ASSERT_TRUE(until([&] { return at_b_.closed == 1; }));
    EXPECT_EQ(at_b_.error.code, ErrorCode::protocol_violation) << size;
    EXPECT_TRUE(at_b_.notices.empty());
  }
}

TEST_F(SocketChunks, OneThatNobodyAskedForEndsTheSocket) {
  send(5, "surprise");
  ASSERT_TRUE(until([&] { return at_b_.closed == 1; }));
  EXPECT_EQ(at_b_.error.code, ErrorCode::protocol_violation) << at_b_.error.message;
}

TEST_F(SocketChunks, RoomOfTheWrongSizeEndsTheSocket) {
  at_b_.streams = {{1, ""}};
  at_b_.short_by = 1;
  send(1, "two");
  ASSERT_TRUE(until([&] { return at_b_.closed == 1; }));
  EXPECT_EQ(at_b_.error.code, ErrorCode::protocol_violation);
}

TEST_F(SocketChunks, OneBeyondTheLimitEndsTheSocket) {
  at_b_.streams = {{1, ""}};
  const std::uint32_t word =
      (ControlSocket::kMaxChunkSize + 1) | std::uint32_t{ControlSocket::kChunkMark} << 24;
  const std::uint64_t stream = 1;
  ASSERT_EQ(::write(raw_, &word, sizeof word), static_cast<ssize_t>(sizeof word));
  ASSERT_EQ(::write(raw_, &stream, sizeof stream), static_cast<ssize_t>(sizeof stream));
  ASSERT_TRUE(until([&] { return at_b_.closed == 1; }));
  EXPECT_EQ(at_b_.error.code, ErrorCode::protocol_violation);
  EXPECT_TRUE(at_b_.ends.empty());
}

TEST_F(SocketChunks, APeerThatDiesInTheMiddleOfOneIsReported) {
  at_b_.streams = {{1, ""}};
  const std::uint32_t word = 1000U | std::uint32_t{ControlSocket::kChunkMark} << 24;
  const std::uint64_t stream = 1;
  ASSERT_EQ(::write(raw_, &word, sizeof word), static_cast<ssize_t>(sizeof word));
  ASSERT_EQ(::write(raw_, &stream, sizeof stream), static_cast<ssize_t>(sizeof stream));
  ASSERT_EQ(::write(raw_, "half", 4), 4);
  a_.reset();
  ASSERT_TRUE(until([&] { return at_b_.closed == 1; }));
  EXPECT_EQ(at_b_.error.code, ErrorCode::link_lost) << at_b_.error.message;
  EXPECT_TRUE(at_b_.ends.empty());
}

}  // namespace
}  // namespace godwit::fabric
