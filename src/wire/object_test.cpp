#include "wire/object.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace godwit::wire {
namespace {

template <class... Parts>
Buffer joined(const Parts&... parts) {
  std::string all;
  (all.append(reinterpret_cast<const char*>(&parts), sizeof parts), ...);
  return Buffer::copy_of(bytes_of(all));
}

TEST(ObjectRequest, ItsPartsAreFoundAgain) {
  ObjectItem item;
  item.a = 7;
  item.set_terms({.lifetime = 1, .flags = PutTerms::kOwned, .readers = 3, .lease_ns = 99});
  const ObjectRequest head{.op = ObjectOp::commit, .count = 1, .argument = 5, .epoch = 6};
  const Buffer bytes = joined(head, item, std::uint64_t{42});
  const auto parsed = parse_object_request(bytes.view());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->head.op, ObjectOp::commit);
  EXPECT_EQ(parsed->head.epoch, 6);
  ASSERT_EQ(parsed->items.size(), 1);
  EXPECT_EQ(parsed->items[0].a, 7);
  EXPECT_EQ(parsed->items[0].terms().readers, 3);
  EXPECT_EQ(parsed->items[0].terms().lease_ns, 99);
  EXPECT_EQ(parsed->tail.size(), 8);
}

TEST(ObjectRequest, WhatIsCutShortOrUnknownIsRefused) {
  const ObjectRequest head{.op = ObjectOp::evict, .count = 2};
  const Buffer bytes = joined(head, ObjectItem{}, ObjectItem{});
  ASSERT_TRUE(parse_object_request(bytes.view()));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto parsed = parse_object_request(bytes.view().first(size));
    ASSERT_FALSE(parsed) << size;
    EXPECT_EQ(parsed.error().code, ErrorCode::bad_format);
  }
  EXPECT_FALSE(parse_object_request(joined(ObjectRequest{}).view()));
  EXPECT_FALSE(
      parse_object_request(joined(ObjectRequest{.op = static_cast<ObjectOp>(200)}).view()));
  EXPECT_FALSE(parse_object_request(
      joined(ObjectRequest{.op = ObjectOp::evict, .count = UINT32_MAX}).view()));
}

TEST(ObjectAnswer, EachItemHasItsOwnTail) {
  std::string bytes;
  const auto add = [&](const ObjectAnswer& fixed) {
    bytes.append(reinterpret_cast<const char*>(&fixed), sizeof fixed);
  };
  add({.code = static_cast<std::uint32_t>(ErrorCode::not_found), .tail_bytes = 4});
  add({.value = 3});
  add({.flags = ObjectAnswer::kInTail, .tail_bytes = 20});
  bytes += "gone" + std::string(12, '\0') + std::string(20, 'x') + std::string(12, '\0');
  const auto parsed = parse_object_answers(bytes_of(bytes), 3);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(text_of((*parsed)[0].tail), "gone");
  EXPECT_TRUE((*parsed)[1].tail.empty());
  EXPECT_EQ(text_of((*parsed)[2].tail), std::string(20, 'x'));
  EXPECT_FALSE(parse_object_answers(bytes_of(bytes), 2));
  EXPECT_FALSE(parse_object_answers(bytes_of(bytes), 4));
  EXPECT_FALSE(parse_object_answers(bytes_of(bytes).first(bytes.size() - 16), 3));
}

TEST(ObjectAnswer, ASizeThatLiesIsRefused) {
  const Buffer bytes = joined(ObjectAnswer{.tail_bytes = UINT64_MAX}, std::uint64_t{1});
  EXPECT_FALSE(parse_object_answer(bytes.view()));
}

TEST(SpreadFacts, AReasonIsCutToWhatFits) {
  std::vector<SpreadFacts> facts(2);
  facts[0].node = 7;
  facts[1].set_error(static_cast<std::uint32_t>(ErrorCode::node_lost), std::string(1'000, 'x'));
  const Bytes bytes = std::as_bytes(std::span(facts));
  const auto parsed = parse_spread_facts(bytes);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ((*parsed)[0].node, 7U);
  EXPECT_EQ((*parsed)[0].why(), "");
  EXPECT_EQ((*parsed)[1].why(), std::string(sizeof facts[1].text, 'x'));
  facts[1].why_bytes = UINT32_MAX;
  EXPECT_EQ((*parse_spread_facts(bytes))[1].why().size(), sizeof facts[1].text);
  EXPECT_FALSE(parse_spread_facts(bytes.first(bytes.size() - 1)));
  facts.resize(kMaxSpreadNodes + 1);
  EXPECT_FALSE(parse_spread_facts(std::as_bytes(std::span(facts))));
}

}  // namespace
}  // namespace godwit::wire
