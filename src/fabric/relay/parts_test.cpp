// The pieces the transport is made of.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "fabric/relay/byte_queue.hpp"
#include "fabric/relay/link.hpp"
#include "fabric/relay/request.hpp"
#include "fabric/relay/sealed_stream.hpp"

namespace godwit::fabric::relay {
namespace {

using Moved = SealedStream::Moved;

TEST(RelayRequest, SurvivesTheWireAndNothingElseIsTaken) {
  Request request{.what = Request::What::dial, .node = {0x1122334455667788}};
  request.token.fill(std::byte{9});
  const std::string bytes = encode(request);
  EXPECT_EQ(bytes.size(), kRequestSize);
  const Request parsed = parse_request(bytes).value();
  EXPECT_EQ(parsed.what, request.what);
  EXPECT_EQ(parsed.node, request.node);
  EXPECT_EQ(parsed.token, request.token);
  EXPECT_FALSE(parse_request(bytes.substr(1)));
  EXPECT_FALSE(parse_request(bytes + "x"));
  for (const char what : {'\0', '\5', '\xff'}) {
    std::string unknown = bytes;
    unknown[4] = what;
    EXPECT_EQ(parse_request(unknown).error().code, ErrorCode::bad_format);
  }
}

TEST(RelayRequest, ASummonsIsATokenAndNothingElse) {
  Token token;
  token.fill(std::byte{3});
  const std::string frame = encode_summons(token);
  EXPECT_EQ(parse_summons(bytes_of(frame)).value(), token);
  EXPECT_FALSE(parse_summons(bytes_of(frame + "x")));
  EXPECT_FALSE(parse_summons({}));
}

TEST(RelayByteQueue, GivesBytesBackInOrderAndMemoryWhenEmpty) {
  ByteQueue queue;
  const auto add = [&](std::string_view text) {
    std::memcpy(queue.room(text.size()).data(), text.data(), text.size());
    queue.commit(text.size());
  };
  add("abc");
  add("def");
  queue.consume(2);
  EXPECT_EQ(text_of(queue.view()), "cdef");
  for (int i = 0; i < 100; ++i) {
    add("0123456789");
    queue.consume(10);
    EXPECT_EQ(queue.size(), 4U);
  }
  EXPECT_LT(queue.capacity(), 100U) << "it grew instead of moving to the front";
  add(std::string(ByteQueue::kKept, 'x'));
  queue.consume(queue.size());
  EXPECT_EQ(queue.capacity(), 0U);
}

TEST(RelayLinkTable, AnOldIdOfAReusedSlotMisses) {
  LinkTable table(2);
  Link* const first = table.add();
  const LinkId old = first->id;
  table.remove(*first);
  Link* const second = table.add();
  EXPECT_EQ(table.find(old), nullptr);
  EXPECT_EQ(table.find(second->id), second);
  EXPECT_NE(table.add(), nullptr);
  EXPECT_EQ(table.add(), nullptr) << "two links are allowed";
}

trust::Seal seal_for_test() {
  trust::SealKey key;
  key.bytes.fill(1);
  return trust::Seal::create(trust::Cipher::chacha20_poly1305, key).value();
}

// A stream, and the naked socket at its other end.
struct StreamAndSocket {
  StreamAndSocket() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    other = Fd(ends[1]);
    stream = std::make_unique<SealedStream>(Fd(ends[0]), seal_for_test(), seal_for_test(), Bytes{});
  }
  Fd other;
  std::unique_ptr<SealedStream> stream;
};

TEST(RelaySealedStream, RecordsComeOutAsTheyWentInHoweverTheyAreCut) {
  StreamAndSocket from;
  StreamAndSocket to;
  const std::string large(SealedStream::kMaxText, 'z');
  const std::vector<std::string> texts{"", "small", large, "x"};
  std::string wire;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Bytes part = bytes_of(texts[i]);
    ASSERT_TRUE(from.stream->put(RecordKind::more, static_cast<std::uint32_t>(i), {&part, 1}));
    while (from.stream->queued_bytes() > 0) {
      ASSERT_TRUE(from.stream->write());
      char buffer[65536];
      ssize_t got = 0;
      while ((got = ::recv(from.other.get(), buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
        wire.append(buffer, static_cast<std::size_t>(got));
      }
    }
  }
  std::vector<std::string> opened;
  std::size_t sent = 0;
  for (std::size_t step = 1; opened.size() < texts.size(); step = step * 3 % 70'001) {
    const std::size_t size = std::min(step, wire.size() - sent);
    if (size > 0) sent += static_cast<std::size_t>(::send(to.other.get(), &wire[sent], size, 0));
    ASSERT_TRUE(to.stream->read());
    while (true) {
      const auto record = to.stream->next().value();
      if (!record) break;
      EXPECT_EQ(record->stream, opened.size());
      std::string text(record->text_size, '\0');
      ASSERT_TRUE(to.stream->open(*record, std::as_writable_bytes(std::span(text))));
      opened.push_back(std::move(text));
    }
  }
  EXPECT_TRUE(opened == texts);
}

TEST(RelaySealedStream, ARecordThatIsTooLargeIsNeitherMadeNorRead) {
  StreamAndSocket end;
  const std::string large(SealedStream::kMaxText + 1, 'z');
  const Bytes part = bytes_of(large);
  EXPECT_FALSE(end.stream->put(RecordKind::more, 0, {&part, 1}));
  const std::string head("\xff\xff\xff\x03\0\0\0\0", 8);
  ASSERT_EQ(::send(end.other.get(), head.data(), head.size(), 0), 8);
  EXPECT_EQ(end.stream->read().value(), Moved::some);
  EXPECT_EQ(end.stream->next().error().code, ErrorCode::protocol_violation);
}

TEST(RelaySealedStream, TheEndOfTheSocketIsToldApartFromSilence) {
  StreamAndSocket end;
  EXPECT_EQ(end.stream->read().value(), Moved::none);
  end.other.reset();
  EXPECT_EQ(end.stream->read().value(), Moved::ended);
}

}  // namespace
}  // namespace godwit::fabric::relay
