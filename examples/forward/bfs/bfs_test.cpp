#include "bfs/bfs.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "bfs/kernel.hpp"
#include "common/gpu.hpp"
#include "common/ranks.hpp"

namespace gallery::bfs {
namespace {

constexpr Options kOptions{.scale = 11, .edge_factor = 4};

Search search_on(godwit::Rank ranks, int workers = 1) {
  Options options = kOptions;
  options.workers = workers;
  return on_ranks(ranks, [&](godwit::Group& group) { return search(group, options); });
}

TEST(Bfs, FindsTheLevelsThatASearchByOneThreadFinds) {
  const std::vector<std::uint32_t> expected = search_alone(kOptions);
  for (const godwit::Rank ranks : {1, 2, 3, 4, 7}) {
    EXPECT_EQ(search_on(ranks).levels, expected) << ranks;
  }
  const std::vector<std::uint64_t> counts = count_levels(expected);
  EXPECT_GE(counts.size(), 4U);
  EXPECT_EQ(counts[0], 1U);
}

TEST(Bfs, FindsThemWithAnyNumberOfThreads) {
  EXPECT_EQ(search_on(2, 3).levels, search_alone(kOptions));
}

TEST(Bfs, FindsThemOnAGpu) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU";
  Options options = kOptions;
  options.gpu = true;
  const auto body = [&](godwit::Group& group) { return search(group, options); };
  EXPECT_EQ(on_ranks(3, body).levels, search_alone(kOptions));
}

TEST(Bfs, CountsEveryEdgeOfWhatItReachesOnce) {
  const Search alone = search_on(1);
  const Search together = search_on(3);
  EXPECT_EQ(together.edges, alone.edges);
  EXPECT_EQ(together.plot.edges, alone.plot.edges);
  EXPECT_EQ(together.plot.levels, alone.plot.levels);
  EXPECT_GT(alone.edges, kOptions.vertices() / 2);
  EXPECT_LE(alone.edges, static_cast<std::uint64_t>(kOptions.edges()));
}

}  // namespace
}  // namespace gallery::bfs
