// Ranks whose items lie elsewhere, beside ranks on CPUs.
#include "forward/outpost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/fail.hpp"
#include "base/folder_for_test.hpp"
#include "forward/hikes_for_test.hpp"
#include "godwit/exchange.hpp"
#include "trace/json_value.hpp"

namespace godwit::forward {
namespace {

using testing::HasSubstr;

TEST(Outposts, ExchangeItemsWithRanksOnCpus) {
  EXPECT_EQ(hiked({}), expected_of(200));
}

TEST(Outposts, LetItemsWaitInAFileThatHaveNoRoom) {
  EXPECT_EQ(hiked({.hikers = 50, .queue_bytes = 8192}), expected_of(50));
}

// Whoever is where then, and however many: in a checkpoint all ranks are alike.
TEST(Outposts, SaveTogetherWithRanksOnCpusAndGoOnAsEither) {
  struct First {
    std::string_view on_cpus;
    std::size_t queue_bytes;
    std::uint64_t every;  // rounds; with little room there are many
  };
  for (const First& first : {First{"yn", 16 << 20, 4}, {"ny", 16 << 20, 4}, {"yn", 8192, 15}}) {
    const TestFolder folder;
    Hike hike{
        .on_cpus = first.on_cpus,
        .hikers = 50,
        .queue_bytes = first.queue_bytes,
        .run = {.checkpoint_folder = folder.path().string(), .checkpoint_every = first.every}};
    EXPECT_EQ(hiked(hike), expected_of(50));
    hike.resumes = true;
    hike.run.checkpoint_every = 1'000'000;
    for (const auto& [ranks, on_cpus] : {std::pair<Rank, std::string_view>{4, first.on_cpus},
                                         {4, "y"},
                                         {4, "nnyy"},
                                         {2, "n"},
                                         {7, "nny"}}) {
      hike.ranks = ranks;
      hike.on_cpus = on_cpus;
      EXPECT_EQ(hiked(hike), expected_of(50)) << ranks << " " << on_cpus;
    }
    std::stringstream trace;
    trace << std::ifstream(folder / "trace.json").rdbuf();
    EXPECT_TRUE(trace::JsonValue::parse(trace.str()));
    EXPECT_THAT(trace.str(), HasSubstr("rank 6"));
  }
}

TEST(Outposts, ThatCannotSaveNowAreAnErrorOnAllRanksAndNothingIsSaved) {
  const TestFolder folder;
  const std::string path = (folder / "saved").string();
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    Status refused;
    if (group.rank() == 1) {
      GODWIT_TRY(auto outpost, Outpost::create(group, kTypes, {}));
      GODWIT_CHECK(outpost->agree({}));
      Seen sums;
      refused = Camp(*outpost, group, sums).save(path, 1, fail(ErrorCode::invalid_argument, "no"));
    } else {
      GODWIT_TRY(auto exchange, CpuExchange::create(group));
      exchange.reduce<Stone>([](const Stone&) {});
      refused = exchange.checkpoint(path);
    }
    EXPECT_TRUE(!refused && refused.error().message == "rank 1: no");
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_FALSE(std::filesystem::exists(path));
}

// Patience is for ranks that do nothing. What it ends with is no matter here, and the disk may be
// slow: it fails, and that is what all hear, not that they waited for too long.
TEST(Outposts, MayWriteForLongerThanOthersHavePatience) {
  using std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPatience{400};
  const TestFolder folder;
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    const std::string path = folder.path().string();
    if (group.rank() == 0) {
      GODWIT_TRY(auto exchange, CpuExchange::create(group, {.patience = kPatience}));
      exchange.reduce<Stone>([](const Stone&) {});
      return exchange.checkpoint(path);
    }
    GODWIT_TRY(auto outpost, Outpost::create(group, kTypes, {.patience = kPatience}));
    GODWIT_CHECK(outpost->agree({}));
    const auto each = [&](const Outpost::Holding::Show& show) -> Status {
      Hiker hiker;
      Chunk chunk;
      chunk.data = reinterpret_cast<std::byte*>(&hiker);
      chunk.count = 1;
      chunk.used = sizeof hiker;
      for (const auto until = steady_clock::now() + kPatience * 3 / 2;
           steady_clock::now() < until;) {
        GODWIT_CHECK(show(chunk, Outpost::Was::incoming));
      }
      return fail(ErrorCode::internal, "that was all");
    };
    return outpost->save(path, {.round = 1, .each = each});
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "rank 1: that was all");
}

TEST(Outposts, WriteNotesToEachOtherBeforeAnythingMoves) {
  const Status done = run_ranks(kAll, [&](Group& group) -> Status {
    if (group.rank() % 2 == 0) {
      auto exchange = CpuExchange::create(group);
      return exchange ? Status{} : tl::unexpected(exchange.error());
    }
    GODWIT_TRY(auto outpost, Outpost::create(group, kTypes, {}));
    for (Rank rank = 0; rank < kAll; ++rank) EXPECT_EQ(outpost->is_elsewhere(rank), rank % 2 == 1);
    EXPECT_TRUE(outpost->hands_over(0)) << "ranks are threads";
    const Rank other = 4 - group.rank();
    outpost->send_note(other, "hello from " + std::to_string(group.rank()));
    GODWIT_TRY(const Outpost::Note note, outpost->await_note());
    EXPECT_EQ(note.from, other);
    EXPECT_EQ(note.bytes, "hello from " + std::to_string(other));
    return outpost->agree({});
  });
  EXPECT_TRUE(done) << done.error().message;
}

// How each rank's part ends if rank 1 says `why` when it is made.
std::array<Status, kAll> ends_if_one_fails(const Status& why) {
  std::array<Status, kAll> ends;
  const Status done = run_ranks(kAll, [&](Group& group) -> Status {
    Status& end = ends[static_cast<std::size_t>(group.rank())];
    if (group.rank() % 2 == 0) {
      auto exchange = CpuExchange::create(group);
      if (!exchange) end = tl::unexpected(exchange.error());
      return {};
    }
    GODWIT_TRY(auto outpost, Outpost::create(group, kTypes, {}));
    end = outpost->agree(group.rank() == 1 ? why : Status{});
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  return ends;
}

TEST(Outposts, ThatCannotBeMadeAreAnErrorOnAllRanksBeforeAnythingMoves) {
  for (const Status& end : ends_if_one_fails(fail(ErrorCode::unsupported, "no such GPU"))) {
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, ErrorCode::unsupported);
    EXPECT_EQ(end.error().message, "rank 1: no such GPU");
  }
}

// Rounds without items, until something ends them.
Status go_on(Outpost& outpost) {
  GODWIT_CHECK(outpost.agree({}));
  for (;;) {
    GODWIT_CHECK(outpost.begin_round({}));
    GODWIT_CHECK(outpost.end_round());
  }
}

// Others may hear of it before they have all said that they are there.
TEST(Outposts, BreakOffTheExchangeOfAll) {
  std::array<Status, kAll> ends;
  const Status done = run_ranks(kAll, [&](Group& group) -> Status {
    Status& end = ends[static_cast<std::size_t>(group.rank())];
    if (group.rank() % 2 == 0) {
      auto exchange = CpuExchange::create(group);
      if (exchange) exchange->reduce<Stone>([](const Stone&) {});
      const auto round = exchange ? exchange->advance() : tl::unexpected(exchange.error());
      if (!round) end = tl::unexpected(round.error());
      return {};
    }
    GODWIT_TRY(auto outpost, Outpost::create(group, kTypes, {}));
    if (group.rank() == 3) {
      end = go_on(*outpost);
      return {};
    }
    GODWIT_CHECK(outpost->agree({}));
    outpost->break_off({ErrorCode::internal, "the GPU is on fire"});
    end = outpost->look_around();
    EXPECT_FALSE(outpost->begin_round({}));
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
  for (const Status& end : ends) {
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().message, "the GPU is on fire");
  }
}

}  // namespace
}  // namespace godwit::forward
