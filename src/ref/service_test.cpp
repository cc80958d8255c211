// What the messages about objects do that the store alone does not.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string_view>

#include "call/context.hpp"
#include "godwit/codec.hpp"
#include "ref/service.hpp"
#include "ref/store_for_test.hpp"
#include "wire/object.hpp"

namespace godwit::ref {
namespace {

using wire::ObjectItem;
using wire::ObjectOp;

class Service : public StoreTest {
 protected:
  // One item, and its bytes in the message; the handle that the answer holds.
  Result<Handle> ask(Holder holder, ObjectOp op, const ObjectItem& item, std::string_view tail) {
    const wire::ObjectRequest head{.op = op, .count = 1, .epoch = holder.epoch.value};
    std::vector<std::byte> request(sizeof head + sizeof item + tail.size());
    std::memcpy(request.data(), &head, sizeof head);
    std::memcpy(request.data() + sizeof head, &item, sizeof item);
    if (!tail.empty()) {
      std::memcpy(request.data() + sizeof head + sizeof item, tail.data(), tail.size());
    }
    call::ReplyBuffer reply;
    reply.prepare(std::size_t{1} << 20);
    const auto answered = service.answer({.node = holder.node}, request, reply);
    if (!answered) return tl::unexpected(answered.error());
    Bytes result;
    DecodeError error;
    EXPECT_TRUE(decode_result(reply.view(), result, error)) << error.what;
    const auto answer = wire::parse_object_answer(result);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->fixed.code != 0) {
      return tl::unexpected(Error{static_cast<ErrorCode>(answer->fixed.code), ""});
    }
    return wire::handle_in(*answer);
  }
  static ObjectItem with_bytes(const Handle& handle, std::string_view bytes) {
    return {.handle = handle, .b = bytes.size()};
  }

  ObjectService service{store, [] {}};
};

TEST_F(Service, APromiseIsKeptByOneMessage) {
  const Handle promised = store.promise(kAlice, {}, {}).value();
  const auto made = ask(kAlice, ObjectOp::fulfil, with_bytes(promised, "at last"), "at last");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(read(kBob, *made), "at last");
  EXPECT_EQ(store.stats().reservations, 0);
}

TEST_F(Service, AVersionIsPublishedByOneMessage) {
  const Handle first = put(kAlice, "one");
  const auto second = ask(kAlice, ObjectOp::update, with_bytes(first, "two"), "two");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->version, first.version + 1);
  EXPECT_EQ(read(kBob, *second), "two");
}

TEST_F(Service, BytesThatCameWithARefusedMessageAreNotKept) {
  const Handle promised = store.promise(kAlice, {}, {}).value();
  const auto made = ask(kAlice, ObjectOp::fulfil, with_bytes(promised, "once"), "once");
  ASSERT_TRUE(made);
  const auto again = ask(kAlice, ObjectOp::fulfil, with_bytes(promised, "twice"), "twice");
  EXPECT_EQ(code_of(again), ErrorCode::already_exists);
  EXPECT_TRUE(store.evict(*made));
  const auto late = ask(kAlice, ObjectOp::update, with_bytes(*made, "late"), "late");
  EXPECT_EQ(code_of(late), ErrorCode::not_found);
  expect_empty();
}

TEST_F(Service, AMessageThatLacksTheBytesItCountsIsRefused) {
  const Handle promised = store.promise(kAlice, {}, {}).value();
  const auto made = ask(kAlice, ObjectOp::fulfil, with_bytes(promised, "four"), "");
  EXPECT_EQ(code_of(made), ErrorCode::bad_format);
}

}  // namespace
}  // namespace godwit::ref
