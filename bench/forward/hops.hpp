// Items that hop to random ranks for ever, and the copies that this is held against.
#pragma once

#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "base/fail.hpp"
#include "base/random.hpp"
#include "floors/sample.hpp"
#include "godwit/exchange.hpp"

namespace godwit::bench {

// As a renderer's or particle code's: numbers, some of which change with every hop.
template <std::size_t size>
struct HopItem {
  std::uint64_t state = 0;
  float position[3] = {};
  float rest[(size - 20) / 4] = {};
};
template <>
struct HopItem<20> {
  std::uint32_t high = 0;
  std::uint32_t low = 0;
  float position[3] = {};
};

struct Course {
  Rank ranks = 1;
  std::size_t items = 0;  // per rank
  std::size_t rounds = 1;
  std::size_t warm_up = 2;
};

inline std::uint64_t hop_state(std::uint64_t state) {
  return state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
}
// Any rank with the same chance.
inline Rank hop_rank(std::uint64_t state, Rank ranks) {
  return static_cast<Rank>(((state >> 32U) * static_cast<std::uint64_t>(ranks)) >> 32U);
}

template <std::size_t size>
struct Hop {
  template <class Out>
  GODWIT_KERNEL void operator()(const HopItem<size>& item, Out& out) const {
    HopItem<size> next = item;
    if constexpr (size == 20) {
      const std::uint64_t state = hop_state(std::uint64_t{item.high} << 32U | item.low);
      next.high = static_cast<std::uint32_t>(state >> 32U);
      next.low = static_cast<std::uint32_t>(state);
      out.emit(next, hop_rank(state, out.ranks()));
    } else {
      next.state = hop_state(item.state);
      next.position[0] += 1;
      out.emit(next, hop_rank(next.state, out.ranks()));
    }
  }
};

template <std::size_t size>
HopItem<size> first_item(Rank rank, std::size_t number) {
  const std::uint64_t state = mix64((static_cast<std::uint64_t>(rank) << 40U) + number);
  HopItem<size> item;
  if constexpr (size == 20) {
    item.high = static_cast<std::uint32_t>(state >> 32U);
    item.low = static_cast<std::uint32_t>(state);
  } else {
    item.state = state;
  }
  return item;
}

// Times rounds in which every item is processed and moves, as rank 0 sees them.
template <std::size_t size>
Result<floors::Sample> time_hops(const Course& course) {
  floors::RoundTrips times(course.rounds);
  std::uint64_t spent_ns = 0;
  const ExchangeOptions options{.queue_bytes = std::size_t{8} << 30};
  GODWIT_CHECK(run_ranks(course.ranks, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<HopItem<size>>::create(group, options));
    for (std::size_t i = 0; i < course.items; ++i) {
      exchange.emit(first_item<size>(group.rank(), i), static_cast<Rank>(i) % group.ranks());
    }
    GODWIT_TRY(Round round, exchange.advance());
    for (std::size_t i = 0; i < course.warm_up + course.rounds; ++i) {
      const std::uint64_t begin_ns = floors::now_ns();
      exchange.process(Hop<size>{});
      GODWIT_TRY(round, exchange.advance());
      if (group.rank() != 0 || i < course.warm_up) continue;
      const std::uint64_t round_ns = floors::now_ns() - begin_ns;
      times.add(round_ns);
      spent_ns += round_ns;
    }
    if (round.alive != course.items * static_cast<std::size_t>(group.ranks())) {
      return fail(ErrorCode::internal, "{} items are left of {}", round.alive, course.items);
    }
    return {};
  }));
  return times.summarise(spent_ns);
}

// Times rounds of as many threads as there are ranks, which wait for each other after every one, as
// that of rank 0 sees them. Each makes ready with `prepare(rank)`, and gets what it is to do then:
// a function of the round's number.
template <class Prepare>
floors::Sample time_together(const Course& course, const Prepare& prepare) {
  floors::RoundTrips times(course.rounds);
  std::uint64_t spent_ns = 0;
  std::barrier together(course.ranks);
  std::vector<std::jthread> threads;
  for (Rank rank = 0; rank < course.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto do_round = prepare(rank);
      together.arrive_and_wait();
      for (std::size_t i = 0; i < course.warm_up + course.rounds; ++i) {
        const std::uint64_t begin_ns = floors::now_ns();
        do_round(i);
        together.arrive_and_wait();
        if (rank != 0 || i < course.warm_up) continue;
        const std::uint64_t round_ns = floors::now_ns() - begin_ns;
        times.add(round_ns);
        spent_ns += round_ns;
      }
    });
  }
  threads.clear();
  return times.summarise(spent_ns);
}

// Where Hop puts an item that goes on.
template <std::size_t size>
struct Lanes {
  std::vector<std::vector<HopItem<size>>> to;  // by rank
  void emit(const HopItem<size>& item, Rank rank) {
    to[static_cast<std::size_t>(rank)].push_back(item);
  }
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(to.size()); }
};

// The same hops as a program without an exchange would make them: an array for each pair of ranks,
// and nothing that could go wrong.
template <std::size_t size>
Result<floors::Sample> time_by_hand(const Course& course) {
  const auto ranks = static_cast<std::size_t>(course.ranks);
  using ByRank = std::vector<std::vector<HopItem<size>>>;
  const std::vector<Lanes<size>> empty(ranks, Lanes<size>{.to = ByRank(ranks)});
  std::array<std::vector<Lanes<size>>, 2> lanes{empty, empty};  // of this round, and the next
  return time_together(course, [&](Rank rank) {
    const auto me = static_cast<std::size_t>(rank);
    for (std::size_t i = 0; i < course.items; ++i) {
      lanes[0][me].emit(first_item<size>(rank, i), static_cast<Rank>(i % ranks));
    }
    return [&lanes, me](std::size_t round) {
      Lanes<size>& out = lanes[(round + 1) % 2][me];
      for (auto& lane : out.to) lane.clear();
      for (const Lanes<size>& source : lanes[round % 2]) {
        for (const HopItem<size>& item : source.to[me]) Hop<size>{}(item, out);
      }
    };
  });
}

// The same bytes, copied by as many threads.
inline Result<floors::Sample> time_copies(const Course& course, std::size_t item_bytes) {
  const std::size_t bytes = course.items * item_bytes;
  return time_together(course, [&](Rank) {
    return [from = std::vector(bytes, std::byte{1}),
            to = std::vector(bytes, std::byte{2})](std::size_t) mutable {
      std::memcpy(to.data(), from.data(), from.size());
      asm volatile("" : : "r"(to.data()) : "memory");
    };
  });
}

}  // namespace godwit::bench
