#include "fleet/message.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/random.hpp"
#include "base/sanitizers.hpp"
#include "base/seeds_for_test.hpp"
#include "fleet/digest.hpp"
#include "fleet/limits.hpp"
#include "fleet/table.hpp"

namespace godwit::fleet {
namespace {

TableMessage full_message() {
  TableMessage message{.root = 7, .probe = true, .rumour = true, .more = true};
  message.buckets.assign(Digest::kBuckets, 3);
  message.summary_buckets = {0, 255};
  message.summary = {{1, 2}, {3, 4}};
  message.wants = {5, 6};
  NodeEntry node;
  node.record = {.id = {11},
                 .epoch = {2},
                 .name = "node",
                 .addresses = {"sim:1", "tcp:127.0.0.1:7400"},
                 .target = {"x86_64", "znver4", "linux", true, 19},
                 .capacities = {8, 1U << 30U, 2},
                 .state = NodeState::leaving,
                 .role = NodeRole::client};
  node.version = {4, {11}, {2}};
  message.nodes = {node, node};
  message.names = {{.key = "k", .value = std::vector<std::byte>(9), .version = {5, {1}, {1}}},
                   {.key = "gone", .version = {6, {1}, {1}}, .erased = true}};
  return message;
}

TEST(TableMessage, SurvivesARoundTrip) {
  const TableMessage message = full_message();
  const auto decoded = decode(encode(message));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->root, 7U);
  EXPECT_TRUE(decoded->probe && decoded->rumour && decoded->more);
  EXPECT_EQ(decoded->buckets, message.buckets);
  EXPECT_EQ(decoded->summary_buckets, message.summary_buckets);
  ASSERT_EQ(decoded->summary.size(), 2U);
  EXPECT_EQ(decoded->summary[1].fingerprint, 4U);
  EXPECT_EQ(decoded->wants, message.wants);
  ASSERT_EQ(decoded->nodes.size(), 2U);
  EXPECT_EQ(decoded->nodes[0].record, message.nodes[0].record);
  EXPECT_EQ(fingerprint(decoded->nodes[1]), fingerprint(message.nodes[1]));
  ASSERT_EQ(decoded->names.size(), 2U);
  EXPECT_EQ(fingerprint(decoded->names[0]), fingerprint(message.names[0]));
  EXPECT_EQ(fingerprint(decoded->names[1]), fingerprint(message.names[1]));
}

TEST(TableMessage, AProbeIsShort) {
  EXPECT_LT(encode({.root = 1, .probe = true}).size(), 100U);
}

TEST(TableMessage, DecodesAtAnyAlignment) {
  const auto bytes = encode(full_message());
  for (std::size_t offset = 0; offset < 8; ++offset) {
    std::vector<std::byte> moved(bytes.size() + offset);
    std::memcpy(moved.data() + offset, bytes.data(), bytes.size());
    EXPECT_TRUE(decode(Bytes(moved).subspan(offset)));
  }
}

TEST(TableMessage, RefusesMoreThanAMessageMayHold) {
  TableMessage buckets;
  buckets.buckets.resize(Digest::kBuckets - 1);
  EXPECT_EQ(decode(encode(buckets)).error().code, ErrorCode::bad_format);
  TableMessage wants;
  wants.wants.resize(kWantsPerMessage + 1);
  EXPECT_EQ(decode(encode(wants)).error().code, ErrorCode::too_large);
  TableMessage names;
  names.names = {{.key = std::string(kMaxKeyBytes + 1, 'k'), .version = {1, {1}, {1}}}};
  EXPECT_EQ(decode(encode(names)).error().code, ErrorCode::too_large);
  EXPECT_EQ(decode(std::vector<std::byte>(kMaxMessageBytes + 1)).error().code,
            ErrorCode::too_large);
}

TEST(TableMessage, AnyTruncationIsRefused) {
  const auto bytes = encode(full_message());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // A heap copy of exactly that size, so that a sanitizer sees any read beyond.
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<long>(size));
    const auto decoded = decode(cut);
    EXPECT_TRUE(!decoded || size > bytes.size() - 8) << "only padding may be missing";
  }
}

TEST(TableMessage, RandomDamageNeitherCrashesNorGetsInvalidEntriesIntoATable) {
  const auto bytes = encode(full_message());
  const Seed seed(5);
  Random random(seed.value());
  std::size_t accepted = 0;
  for (int i = 0; i < (kSanitized ? 10'000 : 50'000); ++i) {
    std::vector<std::byte> damaged = bytes;
    for (std::uint64_t hits = 1 + random.below(4); hits > 0; --hits) {
      damaged[random.below(damaged.size())] = static_cast<std::byte>(random.next());
    }
    const auto decoded = decode(damaged);
    if (!decoded) continue;
    ++accepted;
    Table table(Table::Self{{1}, {1}});
    table.merge(decoded->nodes, decoded->names);
    for (const NodeRecord& record : *table.nodes()) EXPECT_TRUE(validate(record));
    for (const NameEntry& entry : table.names("")) EXPECT_TRUE(validate(entry));
  }
  EXPECT_GT(accepted, 0U) << "the damage never hit a value, so nothing was tested";
}

}  // namespace
}  // namespace godwit::fleet
