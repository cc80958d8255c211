#include "base/ids.hpp"

#include <gtest/gtest.h>

#include <set>
#include <type_traits>
#include <unordered_set>

namespace godwit {
namespace {

static_assert(!std::is_convertible_v<NodeId, LinkId> && !std::is_convertible_v<NodeId, bool>);

TEST(Ids, ZeroMeansNone) {
  EXPECT_FALSE(NodeId{});
  EXPECT_TRUE(NodeId{1});
  EXPECT_LT(Epoch{1}, Epoch{2});
}

TEST(Ids, HexIsSixteenDigitsAndComesBack) {
  EXPECT_EQ(to_hex(0), "0000000000000000");
  EXPECT_EQ(to_hex(0x0123456789abcdefU), "0123456789abcdef");
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{255}, ~std::uint64_t{0}}) {
    EXPECT_EQ(from_hex(to_hex(value)), value);
  }
  EXPECT_EQ(from_hex("ff"), 255U);
}

TEST(Ids, RefusesWhatIsNotHex) {
  for (const std::string_view bad : {"", "xyz", "12 ", " 12", "0x12", "-1", "00000000000000000"}) {
    EXPECT_FALSE(from_hex(bad)) << "'" << bad << "'";
  }
}

TEST(Ids, RandomNodeIdsDiffer) {
  std::set<NodeId> seen;
  for (int i = 0; i < 100; ++i) {
    const NodeId id = random_node_id();
    EXPECT_TRUE(id);
    seen.insert(id);
  }
  EXPECT_EQ(seen.size(), 100U);
}

// RFC 7693's algorithm with 32 bytes of output; the value comes from b2sum -l 256.
TEST(ContentId, IsBlake2b256) {
  EXPECT_EQ(ContentId::of(bytes_of("abc")).hex(),
            "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  EXPECT_EQ(ContentId::of({}).hex(),
            "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
}

TEST(ContentId, ComesBackFromItsText) {
  const ContentId id = ContentId::of(bytes_of("abc"));
  EXPECT_EQ(ContentId::parse(id.hex()), id);
  EXPECT_EQ(id.short_hex(), "bddd813c6342");
  EXPECT_TRUE(id);
  EXPECT_FALSE(ContentId{});
}

TEST(ContentId, RefusesTextOfTheWrongLengthOrAlphabet) {
  const std::string good = ContentId::of(bytes_of("abc")).hex();
  EXPECT_FALSE(ContentId::parse(""));
  EXPECT_FALSE(ContentId::parse(good.substr(1)));
  EXPECT_FALSE(ContentId::parse(good + "0"));
  EXPECT_FALSE(ContentId::parse("g" + good.substr(1)));
}

TEST(Ids, HashSpreadsNeighbours) {
  std::unordered_set<std::size_t> top_bytes;
  for (std::uint64_t i = 1; i <= 64; ++i) {
    top_bytes.insert(std::hash<LinkId>{}(LinkId{i}) >> 56);
  }
  EXPECT_GT(top_bytes.size(), 32U);
}

}  // namespace
}  // namespace godwit
