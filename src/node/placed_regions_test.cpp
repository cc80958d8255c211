// Regions whose chunks a function of the user's has placed.
#include <numeric>
#include <random>

#include "node/mobile_ops_for_test.hpp"

namespace godwit::node {
namespace {

using Words = std::span<const std::uint64_t>;
using List = std::vector<std::uint64_t>;

class PlacedRegions : public testing::TestWithParam<LocalTransport> {
 protected:
  Fleet fleet_ = local(3, {.transport = GetParam()});
};

// Most of it to one node, and none to another.
constexpr auto kLopsided = [](std::uint64_t chunk, std::uint32_t shards) {
  return chunk % 4 == 3 ? 0 : shards - 1;
};

TEST_P(PlacedRegions, ElementsLieWhereTheFunctionSays) {
  auto words = make_region<std::uint64_t>(
      fleet_, "words", {.elements = 100, .sharding = Sharding::by(10, kLopsided)});
  const auto shards = words.describe().shards;
  EXPECT_EQ(shards[0].elements, 20U);
  EXPECT_EQ(shards[1].elements, 0U);
  EXPECT_EQ(shards[2].elements, 80U);
}

TEST_P(PlacedRegions, ProgramsAndMobileCodeFindEveryElement) {
  std::mt19937_64 random(7);
  List homes(23);
  for (std::uint64_t& home : homes) home = random() % 3;
  const auto assign = [&](std::uint64_t chunk, std::uint32_t) { return homes[chunk]; };
  auto words = make_region<std::uint64_t>(
      fleet_, "words", {.elements = 100, .capacity = 113, .sharding = Sharding::by(5, assign)});
  List model(100);
  std::iota(model.begin(), model.end(), 1'000U);
  ASSERT_TRUE(words.put(0, model).get());
  EXPECT_EQ(value_of(words.get(0, 100).get()), model);
  List order(100);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random);
  List expected;
  for (const std::uint64_t index : order) expected.push_back(model[index]);
  EXPECT_EQ(value_of(words.gather(order).get()), expected);
  for (std::size_t node = 0; node < 3; ++node) {
    EXPECT_EQ(value_of(mobile<List(std::string_view, Words)>("gather")
                           .on(fleet_.node(node))("words", order)
                           .get()),
              expected);
  }
  EXPECT_EQ(value_of(ops::sum(words).get()), std::accumulate(model.begin(), model.end(), 0ULL));
  ASSERT_TRUE(words.grow(113));
  ASSERT_TRUE(words.put(112, 9).get());
  EXPECT_EQ(value_of(words.load(112)), 9U);
  EXPECT_EQ(value_of(words.load(0, 100)), model) << "what was there stays";
  auto again = Region<std::uint64_t>::attach(fleet_, "words");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(value_of(again->load(57)), 1'057U);
}

TEST_P(PlacedRegions, PlacesThatDoNotExistAreRefused) {
  const auto outside = [](std::uint64_t chunk, std::uint32_t shards) {
    return chunk == 3 ? shards : 0;
  };
  const auto bad = Region<std::uint64_t>::create(
      fleet_, "bad", {.elements = 100, .sharding = Sharding::by(10, outside)});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(bad.error().message.find("'bad': the function puts chunk 3 on node number 3"),
            std::string::npos)
      << bad.error().message;
  const auto many = Region<std::uint64_t>::create(
      fleet_, "many", {.elements = 1'025, .sharding = Sharding::by(1, kLopsided)});
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(many.error().message.find("1025 chunks"), std::string::npos) << many.error().message;
}

TEST_P(PlacedRegions, ALostNodeTakesItsChunksAlone) {
  auto words = make_region<std::uint64_t>(
      fleet_, "words", {.elements = 60, .sharding = Sharding::by(10, [](std::uint64_t chunk, auto) {
                                          return chunk == 4 ? 1U : 0U;
                                        })});
  ASSERT_TRUE(fleet_.kill(fleet_.find("n1").value()));
  const Failure lost = failure_of(words.load(45));
  EXPECT_EQ(lost.ending, Ending::node_lost) << to_string(lost);
  expect_names(lost, "of region 'words'");
  EXPECT_TRUE(words.put(39, 1).get());
  EXPECT_EQ(value_of(words.load(39)), 1U);
}

INSTANTIATE_TEST_SUITE_P(Over, PlacedRegions,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), name_of);

}  // namespace
}  // namespace godwit::node
