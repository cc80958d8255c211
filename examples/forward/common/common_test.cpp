#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

#include "base/folder_for_test.hpp"
#include "common/exact.hpp"
#include "common/grid.hpp"
#include "common/image.hpp"
#include "common/random.hpp"
#include "common/ranks.hpp"
#include "common/split.hpp"

namespace gallery {
namespace {

TEST(Split, GivesEveryThingToOneRankInRunsOfNearlyOneSize) {
  for (const std::int64_t count : {1, 5, 108, 1000}) {
    for (godwit::Rank ranks = 1; ranks <= 9; ++ranks) {
      const Split split{.count = count, .ranks = ranks};
      EXPECT_EQ(split.first(0), 0);
      EXPECT_EQ(split.first(ranks), count);
      for (godwit::Rank rank = 0; rank < ranks; ++rank) {
        EXPECT_LE(std::abs(split.size(rank) * ranks - count), ranks);
        for (std::int64_t i = split.first(rank); i < split.first(rank + 1); ++i) {
          EXPECT_EQ(split.owner(i), rank);
        }
      }
    }
  }
}

constexpr Grid kSmall{.blocks = {3, 2, 2}, .block_cells = 4, .low = {-1, 0, 2}, .edge = 0.5F};

TEST(Grid, CountsEveryCellOnceAndBlockByBlock) {
  std::set<int> seen;
  for (std::int16_t z = 0; z < 8; ++z) {
    for (std::int16_t y = 0; y < 8; ++y) {
      for (std::int16_t x = 0; x < 12; ++x) {
        const Cell cell{x, y, z};
        ASSERT_TRUE(kSmall.contains(cell));
        seen.insert(kSmall.index_of(cell));
        EXPECT_EQ(kSmall.index_of(cell) / kSmall.cells_per_block(), kSmall.block_of(cell));
      }
    }
  }
  EXPECT_EQ(seen.size(), 12U * 64U);
  EXPECT_EQ(*seen.rbegin(), 12 * 64 - 1);
  EXPECT_FALSE(kSmall.contains({12, 0, 0}));
  EXPECT_FALSE(kSmall.contains(kSmall.cell_at({0, -1e9F, 3})));
  EXPECT_FALSE(kSmall.contains(kSmall.cell_at({0, 1e9F, 3})));
}

// From cell to cell by leave(), a ray visits the cells that its points lie in.
TEST(Grid, IsCrossedCellByCell) {
  for (std::uint64_t key = 0; key < 200; ++key) {
    Random random{.key = key};
    const Vec3 origin{-1 + 6 * random.next(), 4 * random.next(), 2 + 4 * random.next()};
    const Vec3 direction = any_direction(random);
    Cell cell = kSmall.cell_at(origin);
    float from = 0;
    for (int steps = 0; kSmall.contains(cell); ++steps) {
      ASSERT_LT(steps, 30);
      const Exit exit = leave(kSmall, cell, origin, direction);
      EXPECT_GE(exit.distance, from);
      if (exit.distance - from > 1e-3F) {
        const Cell middle = kSmall.cell_at(origin + 0.5F * (from + exit.distance) * direction);
        EXPECT_EQ(kSmall.index_of(middle), kSmall.index_of(cell));
      }
      from = exit.distance;
      cell = exit.next;
    }
  }
}

TEST(Random, DependsOnItsKeyAndOnHowManyWereDrawnAlone) {
  Random first{.key = 7};
  first.next();
  const float second_number = first.next();
  Random later{.key = 7, .drawn = 1};
  EXPECT_EQ(later.next(), second_number);
  Random other{.key = 8, .drawn = 1};
  EXPECT_NE(other.next(), second_number);
}

TEST(Random, IsSpreadEvenly) {
  constexpr int kDraws = 40'000;
  int tenths[10] = {};
  for (std::uint64_t key = 0; key < kDraws / 4; ++key) {
    Random random{.key = key};
    for (int i = 0; i < 4; ++i) ++tenths[static_cast<int>(10 * random.next())];
  }
  for (const int tenth : tenths) EXPECT_NEAR(tenth, kDraws / 10, 300);  // five deviations
}

TEST(Exact, LogAndDecayAreNearTheLibrarys) {
  for (float x = 0x1p-24F; x < 1; x *= 1.01F) {
    EXPECT_NEAR(exact_log(x), std::log(x), 2e-6F * (1 - std::log(x))) << x;
    EXPECT_NEAR(exact_decay(20 * x), std::exp(-20 * x), 2e-6F) << x;
  }
  EXPECT_EQ(exact_log(1), 0);
  EXPECT_EQ(exact_decay(0), 1);
  EXPECT_EQ(exact_decay(1000), 0);
}

TEST(Gather, PutsThePartsOfAllRanksOneAfterTheOther) {
  const auto all = on_ranks(3, [](godwit::Group& group) {
    // The last rank's part is of many slices, the first one's is empty.
    return gather(group, std::vector<std::int64_t>(static_cast<std::size_t>(group.rank()) * 300'000,
                                                   group.rank()));
  });
  ASSERT_EQ(all.size(), 900'000U);
  EXPECT_EQ(all[0], 1);
  EXPECT_EQ(all[299'999], 1);
  EXPECT_EQ(all[300'000], 2);
  EXPECT_EQ(all.back(), 2);
}

TEST(OnRanks, ThrowsWhatARankThrew) {
  try {
    on_ranks(1, [](godwit::Group&) -> int { throw std::runtime_error("no such scene"); });
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("no such scene"), std::string::npos) << error.what();
  }
}

// As much of a PNG decoder as our files need.
std::vector<std::uint8_t> decode(const std::string& path, int width, int height) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<std::uint8_t> file{std::istreambuf_iterator<char>(in), {}};
  const auto number = [&](std::size_t at) {
    return std::uint32_t{file.at(at)} << 24 | std::uint32_t{file.at(at + 1)} << 16 |
           std::uint32_t{file.at(at + 2)} << 8 | std::uint32_t{file.at(at + 3)};
  };
  EXPECT_EQ(number(16), static_cast<std::uint32_t>(width));
  EXPECT_EQ(number(20), static_cast<std::uint32_t>(height));
  const std::uint32_t packed = number(33);  // after the signature and the header
  EXPECT_EQ(std::string(file.begin() + 37, file.begin() + 41), "IDAT");
  EXPECT_EQ(number(41 + packed), crc32(0, file.data() + 37, packed + 4));
  const auto stride = static_cast<std::size_t>(3 * width);
  std::vector<std::uint8_t> rows((stride + 1) * static_cast<std::size_t>(height));
  uLongf size = rows.size();
  EXPECT_EQ(uncompress(rows.data(), &size, file.data() + 41, packed), Z_OK);
  EXPECT_EQ(size, rows.size());

  std::vector<std::uint8_t> pixels;
  for (std::size_t row = 0; row < static_cast<std::size_t>(height); ++row) {
    const std::uint8_t* const line = rows.data() + row * (stride + 1);
    for (std::size_t i = 0; i < stride; ++i) {
      const std::size_t at = row * stride + i;
      const int left = i >= 3 ? pixels[at - 3] : 0;
      const int above = row > 0 ? pixels[at - stride] : 0;
      const int corner = row > 0 && i >= 3 ? pixels[at - stride - 3] : 0;
      const int a = std::abs(above - corner);  // how far left + above - corner is from left
      const int b = std::abs(left - corner);
      const int c = std::abs(left + above - 2 * corner);
      const int nearest = a <= b && a <= c ? left : b <= c ? above : corner;
      const int guesses[] = {0, left, above, (left + above) / 2, nearest};
      pixels.push_back(static_cast<std::uint8_t>(line[1 + i] + guesses[line[0]]));
    }
  }
  return pixels;
}

TEST(Png, HoldsThePixels) {
  const godwit::TestFolder folder;
  Image image = Image::black(61, 40);
  Random random{.key = 3};
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      // A part that is smooth one way, one that is smooth the other way, and noise.
      const float ramp = static_cast<float>(x) / 61;
      const float slope = static_cast<float>(y) / 40;
      image.set(x, y,
                y < 15   ? Vec3{ramp, 1 - ramp, 0.5F}
                : y < 30 ? Vec3{slope, slope, ramp}
                         : Vec3{random.next(), random.next(), random.next()});
    }
  }
  const std::string path = (folder / "picture.png").string();
  write_png(image, path);
  EXPECT_EQ(decode(path, image.width, image.height), image.rgb);
  EXPECT_THROW(write_png(image, (folder.path() / "none" / "picture.png").string()),
               std::runtime_error);
}

}  // namespace
}  // namespace gallery
