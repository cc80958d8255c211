// Ranks whose items lie elsewhere, beside ranks on CPUs. What a GPU would do, a vector does here.
#include "forward/outpost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "base/folder_for_test.hpp"
#include "godwit/exchange.hpp"

namespace godwit::forward {
namespace {

using testing::HasSubstr;

constexpr Rank kAll = 4;  // even ranks are on CPUs

struct Hiker {
  std::uint32_t id = 0;
  std::uint32_t hops = 0;
};
struct Stone {
  std::uint32_t weight = 0;
};

Rank next_stop(const Hiker& hiker) {
  return static_cast<Rank>((hiker.id * 7 + hiker.hops * 13) % kAll);
}

// What all ranks together saw.
struct Seen {
  std::atomic<std::uint64_t> steps = 0;
  std::atomic<std::uint64_t> hash = 0;
  std::atomic<std::uint64_t> weight = 0;
  void see(const Hiker& hiker) {
    ++steps;
    hash += hiker.id * 31 + hiker.hops;
  }
};

// Every step leaves a stone with the next rank.
template <class Out>
void take_step(Seen& sums, const Hiker& hiker, Rank here, Out&& emit) {
  sums.see(hiker);
  emit(Stone{.weight = hiker.id % 5}, (here + 1) % kAll);
  if (hiker.hops == 0) return;
  const Hiker next{.id = hiker.id, .hops = hiker.hops - 1};
  emit(next, next_stop(next));
}

constexpr std::array kTypes{detail::item_type<Hiker>(), detail::item_type<Reduced<Stone>>()};

// A rank with its queues in vectors.
class Camp {
 public:
  Camp(std::unique_ptr<Outpost> outpost, Rank rank, Seen& sums)
      : outpost_(std::move(outpost)), rank_(rank), sums_(sums) {}
  void emit(const Hiker& hiker, Rank to) {
    leaving_[static_cast<std::size_t>(to)].push_back(hiker);
  }
  void emit(const Stone& stone, Rank to) { stones_[static_cast<std::size_t>(to)].push_back(stone); }

  Status run() {
    for (;;) {
      GODWIT_TRY(const std::uint64_t alive, advance());
      if (alive == 0) return {};
      for (const Hiker& hiker : std::exchange(here_, {})) {
        take_step(sums_, hiker, rank_, [this](const auto& item, Rank to) { emit(item, to); });
      }
    }
  }

 private:
  template <class T>
  Status send(std::uint16_t kind, Rank to, std::vector<T>& items) {
    for (const T& item : std::exchange(items, {})) {
      Chunk* const chunk = outpost_->take_chunk(sizeof item);
      chunk->kind = kind;
      chunk->destination = to;
      chunk->count = 1;
      chunk->used = sizeof item;
      std::memcpy(chunk->items(), &item, sizeof item);
      GODWIT_CHECK(outpost_->send_chunk(chunk));
    }
    return {};
  }
  Result<std::uint64_t> advance() {
    const auto own = static_cast<std::size_t>(rank_);
    const std::vector<Hiker> stayed = std::exchange(leaving_[own], {});
    for (const Stone& stone : std::exchange(stones_[own], {})) sums_.weight += stone.weight;
    for (Rank to = 0; to < kAll; ++to) {
      GODWIT_CHECK(send(0, to, leaving_[static_cast<std::size_t>(to)]));
      GODWIT_CHECK(send(1, to, stones_[static_cast<std::size_t>(to)]));
    }
    GODWIT_CHECK(outpost_->begin_round({.emitted = stayed.size()}));
    GODWIT_TRY(const Outpost::Arrived arrived, outpost_->end_round());
    here_ = stayed;
    for (Chunk* const chunk : arrived.chunks) {
      for (std::uint32_t i = 0; i < chunk->count; ++i) {
        if (chunk->kind == 0) {
          here_.push_back(reinterpret_cast<const Hiker*>(chunk->items())[i]);
        } else {
          sums_.weight += reinterpret_cast<const Stone*>(chunk->items())[i].weight;
        }
      }
      give_back(chunk);
    }
    return arrived.round.alive;
  }

  std::unique_ptr<Outpost> outpost_;
  Rank rank_;
  Seen& sums_;
  std::array<std::vector<Hiker>, kAll> leaving_;
  std::array<std::vector<Stone>, kAll> stones_;
  std::vector<Hiker> here_;
};

using CpuExchange = Exchange<Hiker, Reduced<Stone>>;

Status hike_on_cpu(Group& group, Seen& sums, std::uint32_t hikers) {
  auto exchange = CpuExchange::create(group);
  if (!exchange) return tl::unexpected(exchange.error());
  exchange->reduce<Stone>([&](const Stone& stone) { sums.weight += stone.weight; });
  for (std::uint32_t i = 0; i < hikers; ++i)
    exchange->emit(Hiker{.id = i, .hops = 6}, group.rank());
  const auto step = [&](const Hiker& hiker, CpuExchange::Out& out) {
    take_step(sums, hiker, out.rank(), [&](const auto& item, Rank to) { out.emit(item, to); });
  };
  GODWIT_TRY(const RunReport report, exchange->run(step));
  EXPECT_GT(report.rounds, 0u) << "beside ranks elsewhere a run goes by rounds";
  return {};
}

Status hike_elsewhere(Group& group, Seen& sums, std::uint32_t hikers, std::size_t queue_bytes) {
  const ExchangeOptions options{.chunk_bytes = 1024, .queue_bytes = queue_bytes};
  GODWIT_TRY(auto outpost, Outpost::create(group, kTypes, options));
  GODWIT_CHECK(outpost->agree({}));
  Camp camp(std::move(outpost), group.rank(), sums);
  for (std::uint32_t i = 0; i < hikers; ++i) camp.emit(Hiker{.id = i, .hops = 6}, group.rank());
  return camp.run();
}

void expect_the_same_hikes(std::uint32_t hikers, std::size_t queue_bytes) {
  Seen sums;
  const Status done = run_ranks(kAll, [&](Group& group) {
    return group.rank() % 2 == 0 ? hike_on_cpu(group, sums, hikers)
                                 : hike_elsewhere(group, sums, hikers, queue_bytes);
  });
  ASSERT_TRUE(done) << done.error().message;
  Seen expected;
  for (std::uint32_t i = 0; i < hikers; ++i) {
    for (std::uint32_t hops = 0; hops <= 6; ++hops) expected.see({.id = i, .hops = hops});
    expected.weight += 7 * (i % 5);
  }
  EXPECT_EQ(sums.steps, kAll * expected.steps);
  EXPECT_EQ(sums.hash, kAll * expected.hash);
  EXPECT_EQ(sums.weight, kAll * expected.weight);
}

TEST(Outposts, ExchangeItemsWithRanksOnCpus) {
  expect_the_same_hikes(200, std::size_t{16} << 20);
}

TEST(Outposts, LetItemsWaitInAFileThatHaveNoRoom) {
  expect_the_same_hikes(50, 8192);
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

TEST(Outposts, AndWhatOnlyCpusCanDoIsRefused) {
  const TestFolder folder;
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    if (group.rank() == 1) {
      GODWIT_TRY(auto outpost, Outpost::create(group, kTypes, {}));
      EXPECT_EQ(go_on(*outpost).error().code, ErrorCode::unsupported);
      return {};
    }
    auto exchange = CpuExchange::create(group);
    if (!exchange) return tl::unexpected(exchange.error());
    exchange->reduce<Stone>([](const Stone&) {});
    GODWIT_CHECK(exchange->advance());
    const std::string path = folder.path().string();
    for (const Status& refused : {exchange->checkpoint(path), exchange->save_trace(path + "/trace"),
                                  Status(exchange->restore(path).map([](std::uint64_t) {}))}) {
      EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
      EXPECT_THAT(refused.error().message, HasSubstr("rank 1 keeps its items in a GPU's memory"));
    }
    const auto run = exchange->run([](const Hiker&, CpuExchange::Out&) {},
                                   {.checkpoint_folder = path, .checkpoint_every = 1});
    EXPECT_TRUE(!run && run.error().code == ErrorCode::unsupported);
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
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
