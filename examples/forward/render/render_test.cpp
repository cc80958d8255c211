#include "render/render.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/cpu.hpp"
#include "common/gpu.hpp"
#include "common/ranks.hpp"
#include "render/program.hpp"
#include "render/scene.hpp"

namespace gallery::render {
namespace {

Rendering render_on(godwit::Rank ranks, int workers = 1) {
  const Options options{.width = 96, .samples = 2, .workers = workers};
  return on_ranks(ranks, [&](godwit::Group& group) { return render(group, options); });
}

TEST(Render, MakesTheSamePictureOnAnyNumberOfRanks) {
  const Rendering alone = render_on(1);
  EXPECT_EQ(alone.image.width, 96);
  const auto [darkest, brightest] =
      std::minmax_element(alone.image.rgb.begin(), alone.image.rgb.end());
  EXPECT_LT(*darkest, 80);
  EXPECT_GT(*brightest, 200);
  for (const godwit::Rank ranks : {2, 3, 4, 7}) {
    const Rendering together = render_on(ranks);
    EXPECT_EQ(together.light, alone.light) << ranks;
    EXPECT_EQ(together.image, alone.image) << ranks;
    EXPECT_GT(together.taken_up, alone.taken_up);
  }
}

TEST(Render, MakesTheSamePictureWithAnyNumberOfThreads) {
  EXPECT_EQ(render_on(2, 3).light, render_on(1).light);
}

TEST(Render, MakesTheSamePictureOnAGpu) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU";
  const Rendering alone = render_on(1);
  for (const godwit::Rank ranks : {1, 4}) {
    const Options options{.width = 96, .samples = 2, .gpu = true};
    const auto body = [&](godwit::Group& group) { return render(group, options); };
    EXPECT_EQ(on_ranks(ranks, body).light, alone.light) << ranks;
  }
}

struct Busy : Cpu {
  static constexpr std::int64_t kItemsAtOnce = 100;
};

// Ranks that would take a picture in steps of their own take the same ones.
TEST(Render, MakesTheSamePictureOnRanksThatTakeUpLessAtOnce) {
  const Options options{.width = 96, .samples = 2};
  const auto body = [&](godwit::Group& group) {
    if (group.rank() == 0) return render_at(Cpu{}, group, options);
    return render_at(Busy{}, group, options);
  };
  EXPECT_EQ(on_ranks(3, body).light, render_on(1).light);
}

TEST(Render, MakesTheSamePictureOnAGpuAndACpuTogether) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU";
  const auto body = [&](godwit::Group& group) {
    return render(group, {.width = 96, .samples = 200, .gpu = group.rank() != 1});
  };
  const auto alone = [](godwit::Group& group) {
    return render(group, {.width = 96, .samples = 200});
  };
  EXPECT_EQ(on_ranks(3, body).light, on_ranks(1, alone).light);
}

TEST(Render, ShowsWhoOwnsWhatIfAsked) {
  const auto picture = [](godwit::Rank ranks) {
    const Options options{.width = 48, .samples = 1, .show_owners = true};
    return on_ranks(ranks, [&](godwit::Group& group) { return render(group, options).image; });
  };
  EXPECT_EQ(picture(2), picture(2));
  EXPECT_NE(picture(2), picture(3));
}

TEST(Scene, IsKeptInPartsAndSpheresOnABorderTwice) {
  std::size_t kept = 0;
  for (godwit::Rank rank = 0; rank < 4; ++rank) {
    const LocalScene part = make_scene(rank, 4);
    EXPECT_LT(part.spheres.size(), std::size_t{kSpheres} * 6 / 10);
    kept += part.spheres.size();
  }
  EXPECT_GT(kept, std::size_t{kSpheres});
  EXPECT_LT(kept, std::size_t{kSpheres} * 13 / 10);
  EXPECT_EQ(make_scene(0, 1).spheres.size(), std::size_t{kSpheres});
}

}  // namespace
}  // namespace gallery::render
