// Hikers who go from rank to rank, of which some are on CPUs and some are outposts. What a GPU
// would do with items that lie elsewhere, a vector does here.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "forward/outpost.hpp"
#include "forward/save_schedule.hpp"
#include "godwit/exchange.hpp"

namespace godwit::forward {

inline constexpr Rank kAll = 4;

struct Hiker {
  std::uint32_t id = 0;
  std::uint32_t hops = 0;
};
struct Stone {
  std::uint32_t weight = 0;
};

inline Rank next_stop(const Hiker& hiker, Rank ranks) {
  return static_cast<Rank>((hiker.id * 7 + hiker.hops * 13) % static_cast<std::uint32_t>(ranks));
}

// What a rank saw, or all of them.
struct Seen {
  std::uint64_t steps = 0;
  std::uint64_t hash = 0;
  std::uint64_t weight = 0;
  void see(const Hiker& hiker) {
    ++steps;
    hash += hiker.id * 31 + hiker.hops;
  }
  friend Seen operator+(Seen a, const Seen& b) {
    return {a.steps + b.steps, a.hash + b.hash, a.weight + b.weight};
  }
  bool operator==(const Seen&) const = default;
};

// Every step leaves a stone with the next rank.
template <class Out>
void take_step(Seen& sums, const Hiker& hiker, Rank here, Rank ranks, Out&& emit) {
  sums.see(hiker);
  emit(Stone{.weight = hiker.id % 5}, (here + 1) % ranks);
  if (hiker.hops == 0) return;
  const Hiker next{.id = hiker.id, .hops = hiker.hops - 1};
  emit(next, next_stop(next, ranks));
}

inline constexpr std::array kTypes{detail::item_type<Hiker>(), detail::item_type<Reduced<Stone>>()};

// How ranks go about it.
struct Hike {
  Rank ranks = kAll;
  std::string_view on_cpus = "yn";  // by rank, over and over
  std::uint32_t hikers = 200;       // of a rank
  std::size_t queue_bytes = std::size_t{16} << 20;
  RunOptions run = {};
  bool resumes = false;

  [[nodiscard]] bool is_on_cpu(Rank rank) const {
    return on_cpus[static_cast<std::size_t>(rank) % on_cpus.size()] == 'y';
  }
  [[nodiscard]] ExchangeOptions options() const {
    return {.chunk_bytes = 1024, .queue_bytes = queue_bytes, .trace_events = 100};
  }
};

// A rank with its queues in vectors.
class Camp {
 public:
  Camp(Outpost& outpost, const Group& group, Seen& sums)
      : outpost_(outpost),
        rank_(group.rank()),
        ranks_(group.ranks()),
        sums_(sums),
        leaving_(static_cast<std::size_t>(ranks_)),
        stones_(static_cast<std::size_t>(ranks_)) {
    outpost_.keep(detail::kept_state(sums, std::plus<>(), detail::Merging::yes, rank_));
  }
  void emit(const Hiker& hiker, Rank to) {
    leaving_[static_cast<std::size_t>(to)].push_back(hiker);
  }
  void emit(const Stone& stone, Rank to) { stones_[static_cast<std::size_t>(to)].push_back(stone); }

  Status run(const RunOptions& options) {
    SaveSchedule schedule(options);
    for (;;) {
      GODWIT_TRY(const Round round, advance(rank_ == 0 && schedule.ends_round()));
      if (round.alive == 0) return {};
      if (is_to_be_saved_) GODWIT_CHECK(save(options.checkpoint_folder, round.number));
      for (const Hiker& hiker : std::exchange(here_, {})) {
        take_step(sums_, hiker, rank_, ranks_,
                  [this](const auto& item, Rank to) { emit(item, to); });
      }
    }
  }
  Status save(const std::string& folder, std::uint64_t round, Status ready = {}) {
    const auto each = [this](const Outpost::Holding::Show& show) -> Status {
      Chunk chunk;
      chunk.data = reinterpret_cast<std::byte*>(here_.data());
      chunk.count = static_cast<std::uint32_t>(here_.size());
      chunk.used = chunk.count * sizeof(Hiker);
      chunk.source = chunk.destination = rank_;
      return show(chunk, Outpost::Was::incoming);
    };
    return outpost_.save(folder, {.ready = std::move(ready), .round = round, .each = each});
  }
  Result<std::uint64_t> resume(const std::string& folder) {
    const auto put = [this](const Chunk& chunk, bool is_where_it_was) {
      for (std::uint32_t i = 0; i < chunk.count; ++i) {
        if (chunk.kind == 0) {
          const auto& hiker = reinterpret_cast<const Hiker*>(chunk.items())[i];
          emit(hiker, is_where_it_was ? chunk.destination : next_stop(hiker, ranks_));
        } else {
          emit(reinterpret_cast<const Stone*>(chunk.items())[i], chunk.destination % ranks_);
        }
      }
    };
    bool is_finished = false;
    const Outpost::Taking taking{
        .as_it_was = [&](const Chunk& chunk, Outpost::Was was) -> Status {
          if (was == Outpost::Was::held_back) return outpost_.adopt(chunk, was);
          return put(chunk, true), Status();
        },
        .by_route = [&](const Chunk& chunk) { return put(chunk, false), Status(); },
        .finish = [&] { return is_finished = true, Status(); }};
    auto round = outpost_.load(folder, detail::Port::Restoring::if_any, taking);
    EXPECT_TRUE(is_finished || !round || *round == 0);
    return round;
  }

 private:
  template <class T>
  Status send(std::uint16_t kind, Rank to, std::vector<T>& items) {
    for (const T& item : std::exchange(items, {})) {
      Chunk* const chunk = outpost_.take_chunk(sizeof item);
      chunk->kind = kind;
      chunk->destination = to;
      chunk->count = 1;
      chunk->used = sizeof item;
      std::memcpy(chunk->items(), &item, sizeof item);
      GODWIT_CHECK(outpost_.send_chunk(chunk));
    }
    return {};
  }
  Result<Round> advance(bool wants_save) {
    const auto own = static_cast<std::size_t>(rank_);
    const std::vector<Hiker> stayed = std::exchange(leaving_[own], {});
    for (const Stone& stone : std::exchange(stones_[own], {})) sums_.weight += stone.weight;
    for (Rank to = 0; to < ranks_; ++to) {
      GODWIT_CHECK(send(0, to, leaving_[static_cast<std::size_t>(to)]));
      GODWIT_CHECK(send(1, to, stones_[static_cast<std::size_t>(to)]));
    }
    GODWIT_CHECK(outpost_.begin_round({.emitted = stayed.size(), .wants_save = wants_save}));
    GODWIT_TRY(const Outpost::Arrived arrived, outpost_.end_round());
    here_ = stayed;
    is_to_be_saved_ = arrived.is_to_be_saved;
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
    return arrived.round;
  }

  Outpost& outpost_;
  Rank rank_;
  Rank ranks_;
  Seen& sums_;
  std::vector<std::vector<Hiker>> leaving_;
  std::vector<std::vector<Stone>> stones_;
  std::vector<Hiker> here_;
  bool is_to_be_saved_ = false;
};

// All hikers of a rank, or what a checkpoint has of them.
template <class Place>
Status set_out(Place& place, Rank rank, const Hike& hike) {
  if (hike.resumes) {
    GODWIT_TRY(const std::uint64_t round, place.resume(hike.run.checkpoint_folder));
    EXPECT_GT(round, 0U);
    return {};
  }
  for (std::uint32_t i = 0; i < hike.hikers; ++i) place.emit(Hiker{.id = i, .hops = 6}, rank);
  return {};
}

using CpuExchange = Exchange<Hiker, Reduced<Stone>>;

inline Status hike_on_cpu(Group& group, Seen& sums, const Hike& hike) {
  GODWIT_TRY(auto exchange, CpuExchange::create(group, hike.options()));
  exchange.reduce<Stone>([&](const Stone& stone) { sums.weight += stone.weight; });
  exchange.keep(sums, std::plus<>());
  GODWIT_CHECK(set_out(exchange, group.rank(), hike));
  const auto step = [&](const Hiker& hiker, CpuExchange::Out& out) {
    take_step(sums, hiker, out.rank(), out.ranks(),
              [&](const auto& item, Rank to) { out.emit(item, to); });
  };
  GODWIT_TRY(const RunReport report, exchange.run(step, hike.run));
  EXPECT_GT(report.rounds, 0u) << "beside ranks elsewhere a run goes by rounds";
  return hike.run.saves() ? exchange.save_trace(hike.run.checkpoint_folder + "/trace.json")
                          : Status();
}

inline Status hike_elsewhere(Group& group, Seen& sums, const Hike& hike) {
  GODWIT_TRY(auto outpost, Outpost::create(group, kTypes, hike.options()));
  GODWIT_CHECK(outpost->agree({}));
  Camp camp(*outpost, group, sums);
  GODWIT_CHECK(set_out(camp, group.rank(), hike));
  GODWIT_CHECK(camp.run(hike.run));
  return hike.run.saves() ? outpost->save_trace(hike.run.checkpoint_folder + "/trace.json")
                          : Status();
}

// What ranks saw together. A hike that goes on from a checkpoint is the whole one.
inline Seen hiked(const Hike& hike) {
  std::vector<Seen> sums(static_cast<std::size_t>(hike.ranks));
  const Status done = run_ranks(hike.ranks, [&](Group& group) {
    Seen& mine = sums[static_cast<std::size_t>(group.rank())];
    return hike.is_on_cpu(group.rank()) ? hike_on_cpu(group, mine, hike)
                                        : hike_elsewhere(group, mine, hike);
  });
  EXPECT_TRUE(done) << done.error().message;
  return std::accumulate(sums.begin(), sums.end(), Seen{});
}

inline Seen expected_of(std::uint32_t hikers) {
  Seen expected;
  for (std::uint32_t i = 0; i < hikers * kAll; ++i) {
    const std::uint32_t id = i % hikers;
    for (std::uint32_t hops = 0; hops <= 6; ++hops) expected.see({.id = id, .hops = hops});
    expected.weight += 7 * (id % 5);
  }
  return expected;
}

}  // namespace godwit::forward
