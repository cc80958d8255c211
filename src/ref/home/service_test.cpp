// What a home answers to requests, good and bad.
#include "ref/home/service.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/parts.hpp"
#include "call/context.hpp"
#include "godwit/codec.hpp"
#include "ref/disk/checksum.hpp"
#include "ref/home/store_for_test.hpp"

namespace godwit::ref {
namespace {

using wire::ObjectAnswer;
using wire::ObjectAnswerView;
using wire::ObjectItem;
using wire::ObjectOp;

class Service : public StoreTest {
 protected:
  struct Wish {
    ObjectOp op = ObjectOp::none;
    std::vector<ObjectItem> items{};
    std::string tail{};
    std::uint64_t argument = 0;
    bool may_wait = true;
    std::uint8_t flags = 0;
  };

  // The bytes of the answer. Errors: of the request as a whole.
  Result<Bytes> ask(const Wish& wish) {
    const wire::ObjectRequest head{.op = wish.op,
                                   .flags = wish.flags,
                                   .count = static_cast<std::uint32_t>(wish.items.size()),
                                   .argument = wish.argument,
                                   .epoch = kAlice.epoch.value};
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    bytes.append(reinterpret_cast<const char*>(wish.items.data()),
                 wish.items.size() * sizeof(ObjectItem));
    bytes += wish.tail;
    const Buffer request = Buffer::copy_of(bytes_of(bytes));
    reply_.prepare(std::size_t{1} << 30);
    reply_.lender.reset();
    reply_.parts.clear();
    auto answered =
        service_.answer({.node = kAlice.node, .may_wait = wish.may_wait}, request.view(), reply_);
    if (!answered) return tl::unexpected(std::move(answered).error());
    Descriptor where;
    std::memcpy(&where, reply_.view().data(), sizeof where);
    EXPECT_EQ(where.offset, kBlobAlign);
    const std::size_t all =
        reply_.lender == nullptr ? reply_.view().size() : total_size(reply_.parts);
    EXPECT_EQ(where.count, all - kBlobAlign);
    return reply_.view().subspan(kBlobAlign);
  }
  std::vector<ObjectAnswerView> answers(const Wish& wish) {
    return wire::parse_object_answers(ask(wish).value(), wish.items.size()).value();
  }
  static ObjectItem of(const Handle& handle) { return {.handle = handle}; }
  static ErrorCode code(const ObjectAnswerView& answer) {
    return static_cast<ErrorCode>(answer.fixed.code);
  }

  int uses_ = 0;
  call::ReplyBuffer reply_;
  ObjectService service_{store,
                         {.self = {.node = kHome, .epoch = {1}},
                          .on_use = [this] { ++uses_; },
                          .wake = [](std::uint64_t) {}}};
};

TEST_F(Service, AnObjectComesWithTheAnswerOrIsPinned) {
  const Handle handle = put(kBob, "some bytes");
  const auto small = answers({.op = ObjectOp::locate, .items = {of(handle)}, .argument = 10});
  EXPECT_EQ(small[0].fixed.flags, ObjectAnswer::kInTail);
  EXPECT_EQ(text_of(small[0].tail), "some bytes");
  EXPECT_EQ(store.stats().pins, 0);
  const auto large = answers({.op = ObjectOp::locate, .items = {of(handle)}, .argument = 9});
  EXPECT_EQ(large[0].fixed.flags, 0);
  EXPECT_NE(large[0].fixed.value, 0);
  EXPECT_EQ(store.stats().pins, 1);
  std::string pin(reinterpret_cast<const char*>(&large[0].fixed.value), sizeof(std::uint64_t));
  ASSERT_TRUE(ask({.op = ObjectOp::release, .tail = pin + pin + "odd"}));
  EXPECT_EQ(store.stats().pins, 0);
  EXPECT_EQ(uses_, 3);
}

TEST_F(Service, WhatFailsOfSeveralIsSaidOfThatOne) {
  const Handle good = put(kBob, "here");
  Handle forged = good;
  forged.rights = Rights::none;
  const auto all =
      answers({.op = ObjectOp::locate, .items = {of(good), of(forged), of(good)}, .argument = 100});
  EXPECT_EQ(text_of(all[0].tail), "here");
  EXPECT_EQ(code(all[1]), ErrorCode::permission);
  EXPECT_NE(text_of(all[1].tail).find("forged"), std::string::npos);
  EXPECT_EQ(text_of(all[2].tail), "here");
  EXPECT_EQ(ask({.op = ObjectOp::locate, .items = {of(forged)}}).error().code,
            ErrorCode::permission);
}

TEST_F(Service, AnAnswerHasALimitHoweverMuchIsAskedFor) {
  const std::string mebibyte(std::size_t{1} << 20, 'm');
  const Handle handle = put(kBob, mebibyte);
  const Wish wish{.op = ObjectOp::locate,
                  .items = std::vector<ObjectItem>(50, of(handle)),
                  .argument = UINT64_MAX};
  std::size_t inside = 0;
  for (const ObjectAnswerView& answer : answers(wish)) {
    ASSERT_EQ(code(answer), ErrorCode::none);
    inside += answer.tail.size();
  }
  EXPECT_EQ(inside, ObjectService::kMaxTogether);
  EXPECT_EQ(store.stats().pins, 50 - 32) << "the others are to be fetched";
  ObjectItem read = of(handle);
  read.b = mebibyte.size();
  read.d = 1;
  const auto pieces = answers({.op = ObjectOp::read, .items = std::vector<ObjectItem>(33, read)});
  EXPECT_EQ(code(pieces[31]), ErrorCode::none);
  EXPECT_EQ(code(pieces[32]), ErrorCode::too_large);
}

TEST_F(Service, PiecesAreReadInsideTheObjectOnly) {
  const Handle handle = put(kBob, "0123456789");
  const auto read = [&](std::uint64_t at, std::uint64_t bytes, std::uint64_t step,
                        std::uint64_t pieces) -> std::string {
    const auto answer =
        ask({.op = ObjectOp::read,
             .items = {{.handle = handle, .a = at, .b = bytes, .c = step, .d = pieces}}});
    if (!answer) return std::string(to_string(answer.error().code));
    return std::string(text_of(wire::parse_object_answer(*answer).value().tail));
  };
  EXPECT_EQ(read(2, 3, 0, 1), "234");
  EXPECT_EQ(read(0, 1, 3, 4), "0369");
  EXPECT_EQ(read(0, 2, 4, 3), "014589");
  EXPECT_EQ(read(10, 0, 0, 1), "");
  EXPECT_EQ(read(0, 5, 5, 0), "");
  EXPECT_EQ(read(8, 3, 0, 1), "invalid_argument");
  EXPECT_EQ(read(0, 1, 3, 5), "invalid_argument");
  EXPECT_EQ(read(0, 1, 0, UINT64_MAX), "invalid_argument") << "pieces that overlap";
  EXPECT_EQ(read(UINT64_MAX, 2, 0, 1), "invalid_argument");
  EXPECT_EQ(read(0, UINT64_MAX, 1, 1), "invalid_argument");
  EXPECT_EQ(read(1, 2, UINT64_MAX, 3), "invalid_argument");
}

TEST_F(Service, ALargePieceIsLentWithoutACopy) {
  const Handle handle = put(kBob, std::string(200'000, 'x'));
  ObjectItem item = of(handle);
  item.b = 200'000;
  item.d = 1;
  ASSERT_TRUE(ask({.op = ObjectOp::read, .items = {item}}));
  ASSERT_EQ(reply_.parts.size(), 2);
  EXPECT_EQ(reply_.parts[1].size(), 200'000);
  EXPECT_EQ(store.stats().pins, 1) << "until it has been sent";
  reply_.lender.reset();
  EXPECT_EQ(store.stats().pins, 0);
  EXPECT_EQ(ask({.op = ObjectOp::read, .items = {item}, .may_wait = false}).error().code,
            ErrorCode::would_block);
}

TEST_F(Service, PiecesComeWithTheirChecksumIfItIsAskedFor) {
  const std::string text = std::string(100'000, 'x') + "y" + std::string(99'999, 'z');
  const Handle handle = put(kBob, text);
  const auto read = [&](const ObjectItem& item, std::uint8_t flags) {
    return wire::parse_object_answer(
               ask({.op = ObjectOp::read, .items = {item}, .flags = flags}).value())
        .value();
  };
  const ObjectItem strided{.handle = handle, .a = 99'999, .b = 2, .c = 100, .d = 3};
  const auto few = read(strided, wire::ObjectRequest::kChecksum);
  EXPECT_EQ(few.fixed.flags, ObjectAnswer::kChecksum);
  EXPECT_EQ(few.fixed.value, Checksum::of(bytes_of("xyzzzz")));
  EXPECT_EQ(read(strided, 0).fixed.flags, 0U);
  const ObjectItem all{.handle = handle, .b = text.size(), .d = 1};
  const Bytes answer =
      ask({.op = ObjectOp::read, .items = {all}, .flags = wire::ObjectRequest::kChecksum}).value();
  ObjectAnswer lent;
  std::memcpy(&lent, answer.data(), sizeof lent);
  EXPECT_EQ(lent.value, Checksum::of(bytes_of(text)));
  reply_.lender.reset();
}

TEST(PieceChecksums, APieceOfAVersionIsReadOnce) {
  PieceChecksums known;
  const PieceChecksums::Piece piece{.object = {{1}}, .version = 1, .first = 0, .size = 3};
  const std::uint64_t abc = Checksum::of(bytes_of("abc"));
  const std::uint64_t xyz = Checksum::of(bytes_of("xyz"));
  EXPECT_EQ(known.of(piece, bytes_of("abc")), abc);
  EXPECT_EQ(known.of(piece, bytes_of("xyz")), abc) << "it was not looked at";
  PieceChecksums::Piece other = piece;
  other.version = 2;
  EXPECT_EQ(known.of(other, bytes_of("xyz")), xyz);
  other = piece;
  other.first = 3;
  EXPECT_EQ(known.of(other, bytes_of("xyz")), xyz);
  other = piece;
  other.object.bytes[9] = 1;
  EXPECT_EQ(known.of(other, bytes_of("xyz")), xyz);
}

TEST_F(Service, WhatDoesNotParseIsRefused) {
  EXPECT_EQ(ask({.op = static_cast<ObjectOp>(99)}).error().code, ErrorCode::bad_format);
  ObjectItem item;
  item.handle.size = 100;
  EXPECT_EQ(ask({.op = ObjectOp::put, .items = {item}, .tail = "short"}).error().code,
            ErrorCode::bad_format);
  item.handle.size = 0;
  item.set_terms({.lifetime = 77});
  EXPECT_EQ(ask({.op = ObjectOp::put, .items = {item}}).error().code, ErrorCode::bad_format);
  EXPECT_EQ(ask({.op = ObjectOp::wait}).error().code, ErrorCode::bad_format);
  expect_empty();
}

TEST_F(Service, APromiseIsKeptAndAVersionPublishedByOneMessage) {
  const Handle promised = store.promise(kAlice, {}, {}).value();
  const auto kept =
      answers({.op = ObjectOp::fulfil, .items = {{.handle = promised, .b = 7}}, .tail = "at last"});
  const Handle first = wire::handle_in(kept[0]).value();
  EXPECT_EQ(read(kBob, first), "at last");
  const auto next =
      answers({.op = ObjectOp::update, .items = {{.handle = first, .b = 5}}, .tail = "later"});
  const Handle second = wire::handle_in(next[0]).value();
  EXPECT_EQ(second.version, first.version + 1);
  EXPECT_EQ(read(kBob, second), "later");
  EXPECT_EQ(store.stats().reservations, 0);
}

TEST_F(Service, BytesThatCameWithARefusedMessageAreNotKept) {
  const Handle promised = store.promise(kAlice, {}, {}).value();
  const Wish fulfil{
      .op = ObjectOp::fulfil, .items = {{.handle = promised, .b = 4}}, .tail = "once"};
  const Handle made = wire::handle_in(answers(fulfil)[0]).value();
  EXPECT_EQ(ask(fulfil).error().code, ErrorCode::already_exists);
  EXPECT_TRUE(store.evict(made));
  const Wish update{.op = ObjectOp::update, .items = {{.handle = made, .b = 4}}, .tail = "late"};
  EXPECT_EQ(ask(update).error().code, ErrorCode::not_found);
  expect_empty();
  EXPECT_EQ(ask({.op = ObjectOp::fulfil, .items = {{.handle = made, .b = 4}}}).error().code,
            ErrorCode::bad_format)
      << "the bytes are missing";
}

}  // namespace
}  // namespace godwit::ref
