#include "streamlines/streamlines.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "common/gpu.hpp"
#include "common/ranks.hpp"

namespace gallery::streamlines {
namespace {

constexpr Options kOptions{.lines = 50, .steps = 600};

Streamlines trace_on(godwit::Rank ranks, int workers = 1) {
  Options options = kOptions;
  options.workers = workers;
  return on_ranks(ranks, [&](godwit::Group& group) { return trace(group, options); });
}

TEST(Streamlines, AreTheSameToTheBitOnAnyNumberOfRanks) {
  const Streamlines alone = trace_on(1);
  EXPECT_EQ(alone.taken, 50U * 600U);
  EXPECT_EQ(alone.hops, 0U);
  for (const godwit::Rank ranks : {2, 3, 4, 7}) {
    const Streamlines together = trace_on(ranks);
    EXPECT_TRUE(same(together, alone)) << ranks;
    EXPECT_GT(together.hops, 0U);
    EXPECT_LT(together.hops, alone.taken / 50) << "a particle stays as long as it can";
  }
}

TEST(Streamlines, AreTheSameToTheBitWithAnyNumberOfThreads) {
  EXPECT_TRUE(same(trace_on(2, 3), trace_on(1)));
}

TEST(Streamlines, AreTheSameToTheBitOnAGpu) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU";
  Options options = kOptions;
  options.gpu = true;
  const auto body = [&](godwit::Group& group) { return trace(group, options); };
  EXPECT_TRUE(same(on_ranks(4, body), trace_on(1)));
}

// What the tori of the field are the level sets of: the lines stay on them.
TEST(Streamlines, StayOnTheirTori) {
  const Streamlines lines = trace_on(2);
  const auto torus = [](Vec3 at) { return 2 * std::hypot(at.x, at.y) / (1 + dot(at, at)); };
  for (int line = 0; line < kOptions.lines; ++line) {
    const Point* const points = lines.points.data() + line * kOptions.steps;
    const float first = torus(points[0].position);
    for (int step = 0; step < kOptions.steps; ++step) {
      ASSERT_NEAR(torus(points[step].position), first, 3e-3F) << line << " at " << step;
    }
  }
}

TEST(Streamlines, DrawnAreNotABlackPicture) {
  const Image image = draw(trace_on(1), kOptions, 128);
  std::uint64_t light = 0;
  for (const std::uint8_t byte : image.rgb) light += byte;
  EXPECT_GT(light / image.rgb.size(), 30U);
}

}  // namespace
}  // namespace gallery::streamlines
