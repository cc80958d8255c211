// Going on from a checkpoint as if nothing had happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>

#include "base/fail.hpp"
#include "base/folder_for_test.hpp"
#include "forward/checkpoint.hpp"
#include "forward/transport_for_test.hpp"

namespace godwit::forward {
namespace {

using testing::HasSubstr;

class ResumeTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return (folder_ / "saved").string(); }
  // What the ranks of a transport sum up; `options` says what a rank does.
  template <class Options>
  Status run(Rank ranks, std::vector<TransportTally>& tallies, const Options& options) const {
    tallies.assign(static_cast<std::size_t>(ranks), {});
    return run_ranks(ranks, [&](Group& group) -> Status {
      GODWIT_TRY(tallies[static_cast<std::size_t>(group.rank())],
                 transport(group, options(group.rank())));
      return {};
    });
  }
  static std::vector<std::string> texts(const std::vector<TransportTally>& tallies) {
    std::vector<std::string> all;
    for (const TransportTally& tally : tallies) all.push_back(tally.text());
    return all;
  }
  [[nodiscard]] std::uint64_t saved_round() const {
    const auto manifest = CheckpointFolder::read_manifest(path());
    return manifest ? manifest->round : 0;
  }

  TestFolder folder_;
};

TEST_F(ResumeTest, EndsWithTheSameBitsHoweverOftenItWasInterrupted) {
  std::vector<TransportTally> tallies;
  ASSERT_TRUE(run(3, tallies, [](Rank) { return TransportOptions{}; }));
  const auto undisturbed = texts(tallies);
  // A rank fails: in its kernel a while after a checkpoint, or while it writes one that the others
  // have written. By the third one programs go through rounds of the same numbers again.
  using Moment = TransportOptions::Moment;
  struct Interruption {
    Rank victim;
    Moment moment;
    int saves;
  };
  std::uint64_t round = 0;
  for (const auto& [victim, moment, saves] :
       {Interruption{2, Moment::kernel, 3}, Interruption{0, Moment::kernel, 1},
        Interruption{1, Moment::save, 1}, Interruption{0, Moment::kernel, 2}}) {
    const Status failed = run(3, tallies, [&](Rank rank) {
      TransportOptions options{.folder = path(), .every = 3};
      if (rank != victim) return options;
      options.at = [moment, saves, seen = 0](Moment now) mutable {
        if (now == Moment::save) ++seen;
        if (now == moment && seen == saves) throw std::runtime_error("enough");
      };
      return options;
    });
    ASSERT_FALSE(failed);
    if (moment == Moment::save) {
      EXPECT_EQ(saved_round(), round) << "half a checkpoint counts";
    } else {
      EXPECT_GT(saved_round(), round);
    }
    round = saved_round();
  }
  const Status done =
      run(3, tallies, [&](Rank) { return TransportOptions{.folder = path(), .every = 4}; });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(texts(tallies), undisturbed);
  EXPECT_GT(saved_round(), round) << "it was left as it was";
}

// What a killed program had begun to write neither counts nor stays.
TEST_F(ResumeTest, LooksAtWholeCheckpointsOnly) {
  std::vector<TransportTally> tallies;
  ASSERT_TRUE(
      run(2, tallies, [&](Rank) { return TransportOptions{.folder = path(), .every = 7}; }));
  const auto undisturbed = texts(tallies);
  for (const char* name : {"items-77-0.gdi", "items-77-1.gdi.123.tmp", "manifest.99.tmp"}) {
    std::ofstream(path() + "/" + name) << "half of somethi";
  }
  ASSERT_TRUE(
      run(2, tallies, [&](Rank) { return TransportOptions{.folder = path(), .every = 1}; }));
  EXPECT_EQ(texts(tallies), undisturbed);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path())) ++files;
  EXPECT_EQ(files, 3U);
}

struct Token {
  std::uint64_t id = 0;
};

TEST_F(ResumeTest, BeginsAtTheBeginningIfNothingIsSaved) {
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Token>::create(group));
    GODWIT_TRY(const std::uint64_t round, exchange.resume(path()));
    EXPECT_EQ(round, 0U);
    exchange.emit(Token{}, 0);
    for (std::uint64_t i = 1; i <= 5; ++i) {
      GODWIT_TRY(const Round now, exchange.advance());
      EXPECT_EQ(now.number, i);
    }
    return exchange.checkpoint(path());
  });
  ASSERT_TRUE(done) << done.error().message;
  const Status later = run_ranks(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Token>::create(group));
    GODWIT_TRY(const std::uint64_t round, exchange.resume(path()));
    EXPECT_EQ(round, 5U);
    GODWIT_TRY(const Round again, exchange.advance());
    EXPECT_EQ(again.number, 5U);
    return {};
  });
  ASSERT_TRUE(later) << later.error().message;
}

TEST_F(ResumeTest, SavesWhenTimeHasPassedAndRankZeroSaysSo) {
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Token>::create(group));
    exchange.emit(Token{}, 0);
    // Goes round until something is saved.
    const auto kernel = [&](const Token& token, auto& out) {
      if (saved_round() == 0) out.emit(token, 1 - out.rank());
    };
    RunOptions options{.checkpoint_folder = path()};
    options.checkpoint_interval = std::chrono::milliseconds(group.rank() == 0 ? 1 : 3'600'000);
    GODWIT_CHECK(exchange.run(kernel, options));
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_GT(saved_round(), 0U);
}

// Items that found no room are held back at their source, and are saved there.
TEST_F(ResumeTest, HoldsBackWhatWasHeldBack) {
  constexpr std::uint64_t kTokens = 5'000;
  const ExchangeOptions options{.chunk_bytes = 1024, .queue_bytes = 4096};
  Status done = run_ranks(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Token>::create(group, options));
    for (std::uint64_t i = 0; i < kTokens; ++i) exchange.emit(Token{i}, i % 2 == 0 ? 0 : 1);
    GODWIT_TRY(const Round round, exchange.advance());
    EXPECT_GT(round.held_back, 0U);
    return exchange.checkpoint(path());
  });
  ASSERT_TRUE(done) << done.error().message;
  for (const Pace pace : {Pace::rounds, Pace::free}) {
    std::mutex mutex;
    std::map<std::uint64_t, int> seen;
    done = run_ranks(2, [&](Group& group) -> Status {
      GODWIT_TRY(auto exchange, Exchange<Token>::create(group, options));
      GODWIT_CHECK(exchange.resume(path()));
      EXPECT_EQ(exchange.checkpoint(path()).error().code, ErrorCode::invalid_argument)
          << "it is not yet a moment between rounds";
      const auto kernel = [&](const Token& token, auto& out) {
        EXPECT_EQ(out.rank(), static_cast<Rank>(token.id % 2));
        const std::lock_guard lock(mutex);
        ++seen[token.id];
      };
      GODWIT_CHECK(exchange.run(kernel, pace));
      return {};
    });
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(seen.size(), kTokens);
    for (const auto& [id, times] : seen) EXPECT_EQ(times, 2) << id;  // both ranks emitted it
  }
}

struct Minimum {
  double value = std::numeric_limits<double>::infinity();
};

// Keeps one thing of each form, all of them different on every rank, and saves or resumes.
struct Keeping {
  std::string path;
  std::mutex mutex{};
  std::map<Rank, std::string> names{};  // that were loaded, by the rank that saved them

  Status save(Group& group, std::size_t counts) {
    GODWIT_TRY(auto exchange, Exchange<Token>::create(group));
    std::array<double, 3> sums{1.0 + group.rank(), 2, 3};
    Minimum minimum{10.0 - group.rank()};
    std::vector<std::uint32_t> growing(counts, 7);
    exchange.keep(sums, std::plus<>());
    exchange.keep(minimum, [](Minimum a, Minimum b) { return a.value < b.value ? a : b; });
    exchange.keep(growing, std::plus<>());
    exchange.keep([&] { return fmt::format("name of {}", group.rank()); },
                  [](std::span<const std::byte>, Rank) {});
    return exchange.checkpoint(path);
  }
  struct Loaded {
    std::array<double, 3> sums{};
    Minimum minimum;
    std::vector<std::uint32_t> growing;
  };
  Result<Loaded> load(Group& group) {
    GODWIT_TRY(auto exchange, Exchange<Token>::create(group));
    Loaded loaded;
    exchange.keep(loaded.sums, std::plus<>());
    exchange.keep(loaded.minimum, [](Minimum a, Minimum b) { return a.value < b.value ? a : b; });
    exchange.keep(loaded.growing, std::plus<>());
    exchange.keep([] { return std::string(); },
                  [&](std::span<const std::byte> saved, Rank was) {
                    const std::lock_guard lock(mutex);
                    names[was] = {reinterpret_cast<const char*>(saved.data()), saved.size()};
                  });
    GODWIT_CHECK(exchange.resume(path));
    return loaded;
  }
};

TEST_F(ResumeTest, BringsBackWhatRanksKeptOnAnyNumberOfThem) {
  Keeping keeping{path()};
  ASSERT_TRUE(run_ranks(3, [&](Group& group) { return keeping.save(group, 5); }));
  for (const Rank ranks : {1, 2, 3, 4}) {
    keeping.names.clear();
    std::vector<Keeping::Loaded> loaded(static_cast<std::size_t>(ranks));
    const Status done = run_ranks(ranks, [&](Group& group) -> Status {
      GODWIT_TRY(loaded[static_cast<std::size_t>(group.rank())], keeping.load(group));
      return {};
    });
    ASSERT_TRUE(done) << done.error().message;
    double sum = 0;
    double minimum = 100;
    std::uint32_t growing = 0;
    for (const Keeping::Loaded& one : loaded) {
      sum += one.sums[0];
      minimum = std::min(minimum, one.minimum.value);
      growing += one.growing.empty() ? 0 : one.growing.at(4);
    }
    EXPECT_EQ(sum, 6) << ranks;
    EXPECT_EQ(minimum, 8) << ranks;
    EXPECT_EQ(growing, 21U) << ranks;
    EXPECT_EQ(keeping.names,
              (std::map<Rank, std::string>{{0, "name of 0"}, {1, "name of 1"}, {2, "name of 2"}}));
    if (ranks == 3) {
      EXPECT_EQ(loaded[1].sums, (std::array<double, 3>{2, 2, 3}));
    }
  }
}

TEST_F(ResumeTest, RefusesWhatDoesNotFit) {
  const auto ended = [&](Rank ranks, auto keep) {
    return run_ranks(ranks, [&](Group& group) -> Status {
      GODWIT_TRY(auto exchange, Exchange<Token>::create(group));
      std::array<double, 3> three{};
      std::array<double, 2> two{};
      keep(exchange, three, two);
      GODWIT_TRY(const std::uint64_t round, exchange.resume(path()));
      return round > 0 ? Status() : exchange.checkpoint(path());
    });
  };
  const auto keep_three = [](auto& exchange, auto& three, auto&) { exchange.keep(three); };
  ASSERT_TRUE(ended(2, keep_three));
  ASSERT_TRUE(ended(2, keep_three));
  const Status others = ended(3, keep_three);
  ASSERT_FALSE(others);
  EXPECT_EQ(others.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(others.error().message, HasSubstr("keep(state, merge)"));
  const Status shorter = ended(2, [](auto& exchange, auto&, auto& two) { exchange.keep(two); });
  ASSERT_FALSE(shorter);
  EXPECT_EQ(shorter.error().code, ErrorCode::type_mismatch);
  EXPECT_THAT(shorter.error().message, HasSubstr("24 bytes"));
  for (const bool more : {false, true}) {
    const Status differs = ended(2, [&](auto& exchange, auto& three, auto& two) {
      if (!more) return;
      exchange.keep(three);
      exchange.keep(two);
    });
    ASSERT_FALSE(differs);
    EXPECT_EQ(differs.error().code, ErrorCode::type_mismatch);
  }
}

}  // namespace
}  // namespace godwit::forward
