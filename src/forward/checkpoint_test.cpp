#include "forward/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/fail.hpp"
#include "base/folder_for_test.hpp"
#include "forward/walks_for_test.hpp"
#include "godwit/exchange.hpp"

namespace godwit::forward {
namespace {

using testing::HasSubstr;
using SavedWalker = Walker<32>;

struct Stepper {
  const Walk& walk;
  std::mutex& mutex;
  Traffic& traffic;

  // The walk of `ranks` virtual ranks, whatever number of real ones does it: an item knows where it
  // is.
  template <class Out>
  void operator()(const SavedWalker& item, Out& out) const {
    const auto at = static_cast<Rank>(item.filling[0]);
    {
      const std::lock_guard lock(mutex);
      traffic.note(item.from, at, item.id, item.step);
    }
    for (std::uint32_t i = 0; i < walk.followers(item.id, item.step); ++i) {
      const std::uint64_t id = Walk::follower_id(item.id, item.step, i);
      const Rank to = walk.destination(id, item.step + 1, at);
      out.emit(SavedWalker{.id = id,
                           .step = item.step + 1,
                           .from = at,
                           .filling = {static_cast<std::uint32_t>(to)}},
               to % out.ranks());
    }
  }
};

class CheckpointTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return (folder_ / "saved").string(); }
  void seed(Exchange<SavedWalker>& exchange, std::uint64_t seeds) const {
    for (Rank rank = exchange.rank(); rank < walk_.ranks; rank += exchange.ranks()) {
      for (std::uint64_t i = 0; i < seeds; ++i) {
        const std::uint64_t id = Walk::seed_id(rank, i);
        const Rank to = walk_.destination(id, 0, rank);
        exchange.emit(
            SavedWalker{
                .id = id, .step = 0, .from = rank, .filling = {static_cast<std::uint32_t>(to)}},
            to % exchange.ranks());
      }
    }
  }
  static Rank home_of(const SavedWalker& item, Rank ranks) {
    return static_cast<Rank>(item.filling[0]) % ranks;
  }

  TestFolder folder_;
  Walk walk_{.ranks = 4};
  std::mutex mutex_;
  Traffic traffic_{4};
};

TEST_F(CheckpointTest, IsGoneOnWithByAnotherNumberOfRanks) {
  constexpr std::uint64_t kSeeds = 700;
  for (const Rank later : {1, 2, 4, 7}) {
    traffic_ = Traffic(4);
    const ExchangeOptions options{.chunk_bytes = 1024};
    // The first program stops in the middle, after it has saved twice.
    Status done = run_ranks(3, [&](Group& group) -> Status {
      GODWIT_TRY(auto exchange, Exchange<SavedWalker>::create(group, options));
      seed(exchange, kSeeds);
      for (int i = 0; i < 2; ++i) {
        GODWIT_TRY([[maybe_unused]] const Round round, exchange.advance());
        GODWIT_CHECK(exchange.checkpoint(path()));
        if (i == 0) exchange.process(Stepper{walk_, mutex_, traffic_});
      }
      return {};
    });
    ASSERT_TRUE(done) << done.error().message;
    done = run_ranks(later, [&](Group& group) -> Status {
      GODWIT_TRY(auto exchange, Exchange<SavedWalker>::create(group, options));
      GODWIT_TRY(const std::uint64_t round,
                 exchange.restore(path(), [&](const SavedWalker& item, Rank was) {
                   EXPECT_EQ(was, home_of(item, 3));
                   return home_of(item, group.ranks());
                 }));
      EXPECT_EQ(round, 2U);
      GODWIT_TRY([[maybe_unused]] const RunReport report,
                 exchange.run(Stepper{walk_, mutex_, traffic_}));
      return {};
    });
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(traffic_, expected_traffic(walk_, kSeeds)) << later;
    // One checkpoint, of three parts.
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path())) ++files;
    EXPECT_EQ(files, 4U);
  }
}

TEST_F(CheckpointTest, HoldsWhatHadNoRoomToo) {
  const ExchangeOptions options{.chunk_bytes = 1024, .queue_bytes = 2048};
  Status done = run_ranks(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<SavedWalker>::create(group, options));
    seed(exchange, 500);
    GODWIT_TRY(const Round round, exchange.advance());
    EXPECT_GT(round.held_back, 0U);
    return exchange.checkpoint(path());
  });
  ASSERT_TRUE(done) << done.error().message;
  done = run_ranks(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<SavedWalker>::create(group));
    GODWIT_TRY([[maybe_unused]] const std::uint64_t saved, exchange.restore(path()));
    GODWIT_TRY([[maybe_unused]] const RunReport report,
               exchange.run(Stepper{walk_, mutex_, traffic_}));
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(traffic_, expected_traffic(walk_, 500));
}

TEST_F(CheckpointTest, IsMadeDuringARun) {
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<SavedWalker>::create(group));
    seed(exchange, 100);
    GODWIT_TRY(const RunReport report,
               exchange.run(Stepper{walk_, mutex_, traffic_},
                            {.checkpoint_folder = path(), .checkpoint_every = 2}));
    EXPECT_GT(report.rounds, 4U);
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(traffic_, expected_traffic(walk_, 100));
  const auto manifest = CheckpointFolder::read_manifest(path());
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->round % 2, 0U);
  EXPECT_EQ(manifest->ranks, 2);
}

// How restoring on two ranks ends.
Status restored(const std::string& path) {
  return run_ranks(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<SavedWalker>::create(group));
    GODWIT_TRY([[maybe_unused]] const std::uint64_t round, exchange.restore(path));
    return {};
  });
}

TEST_F(CheckpointTest, TellsWhatIsWrongWithAFolder) {
  Status done = restored(path());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::not_found);
  EXPECT_THAT(done.error().message, HasSubstr(path()));

  done = run_ranks(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<SavedWalker>::create(group));
    seed(exchange, 100);
    EXPECT_EQ(exchange.checkpoint(path()).error().code, ErrorCode::invalid_argument);
    GODWIT_TRY([[maybe_unused]] const Round round, exchange.advance());
    return exchange.checkpoint(path());
  });
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_TRUE(restored(path()));

  const auto manifest = CheckpointFolder::read_manifest(path());
  ASSERT_TRUE(manifest) << manifest.error().message;
  const std::string name = fmt::format("items-{}-1.gdi", manifest->number);
  const std::string part = path() + "/" + name;
  const auto size = std::filesystem::file_size(part);
  {
    std::fstream file(part, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size / 2));
    file.put('!');
  }
  done = restored(path());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::bad_format);
  EXPECT_THAT(done.error().message, HasSubstr(name + " is damaged"));
  constexpr std::uint64_t kRecordHead = 40;
  for (const std::uint64_t left :
       {size - 1, size - kRecordHead, kRecordHead - 1, std::uint64_t{0}}) {
    std::filesystem::resize_file(part, left);
    EXPECT_EQ(restored(path()).error().code, ErrorCode::bad_format) << left;
  }
  std::filesystem::remove(part);
  EXPECT_EQ(restored(path()).error().code, ErrorCode::not_found);
  std::ofstream(path() + "/manifest") << "something else\n";
  EXPECT_EQ(restored(path()).error().code, ErrorCode::bad_format);
}

TEST_F(CheckpointTest, OfOtherItemsIsRefused) {
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Walker<48>>::create(group));
    return exchange.checkpoint(path());
  });
  ASSERT_TRUE(done) << done.error().message;
  const Status refused = restored(path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::type_mismatch);
}

TEST_F(CheckpointTest, ThatCannotBeWrittenLeavesTheExchangeAlone) {
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<SavedWalker>::create(group));
    seed(exchange, 100);
    GODWIT_TRY([[maybe_unused]] const Round round, exchange.advance());
    const Status refused = exchange.checkpoint("/dev/null/nowhere");
    EXPECT_FALSE(refused);
    exchange.process(Stepper{walk_, mutex_, traffic_});
    GODWIT_TRY([[maybe_unused]] const RunReport report,
               exchange.run(Stepper{walk_, mutex_, traffic_}));
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(traffic_, expected_traffic(walk_, 100));
}

TEST(CheckpointPart, NoticesEveryDamagedByteAndEveryMissingEnd) {
  const TestFolder place;
  const auto folder = CheckpointFolder::open(place.path().string(), false);
  ASSERT_TRUE(folder);
  {
    auto part = folder->write_part(7, 0);
    ASSERT_TRUE(part);
    std::byte items[48] = {};
    Chunk chunk;
    chunk.data = items;
    chunk.used = sizeof items;
    chunk.count = 3;
    ASSERT_TRUE(part->add(chunk, CheckpointFolder::Part::Was::incoming));
    ASSERT_TRUE(part->add_kept(0, Bytes(items).first(5)));
    ASSERT_TRUE(part->add_kept(1, {}));
    ASSERT_TRUE(part->finish());
  }
  std::size_t seen = 0;
  const CheckpointFolder::Visit visit{
      .chunk = [&](const Chunk&, CheckpointFolder::Part::Was) { return ++seen, Status(); },
      .kept = [&](std::size_t, Bytes) { return ++seen, Status(); }};
  ASSERT_TRUE(folder->read_part(7, 0, visit));
  EXPECT_EQ(seen, 3U);
  const auto path = place / "items-7-0.gdi";
  std::string whole(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary)
      .read(whole.data(), static_cast<std::streamsize>(whole.size()));
  const auto code_with = [&](const std::string& content) {
    std::filesystem::remove(path);  // one that is written over goes to the disk at once
    std::ofstream(path, std::ios::binary) << content;
    const Status read = folder->read_part(7, 0, visit);
    return read ? ErrorCode::none : read.error().code;
  };
  EXPECT_EQ(code_with(whole), ErrorCode::none);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    EXPECT_EQ(code_with(damaged), ErrorCode::bad_format) << i;
    EXPECT_EQ(code_with(whole.substr(0, i)), ErrorCode::bad_format) << i;
  }
}

TEST(CheckpointManifest, ReadsWhatItWrote) {
  const CheckpointManifest manifest{
      .number = 5, .round = 12, .ranks = 3, .types = "Ray of 64 bytes"};
  const auto read = CheckpointManifest::parse(manifest.encode());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->number, 5U);
  EXPECT_EQ(read->round, 12U);
  EXPECT_EQ(read->ranks, 3);
  EXPECT_EQ(read->types, manifest.types);
  const std::string text = manifest.encode();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(CheckpointManifest::parse(std::string_view(text).substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace godwit::forward
