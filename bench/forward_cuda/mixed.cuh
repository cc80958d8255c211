// Ranks that do not all share a GPU's queues: how long rounds take, and how fast items leave a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "forward_cuda/travellers.cuh"
#include "godwit/cuda/exchange.cuh"
#include "godwit/exchange.hpp"
#include "godwit/group.hpp"

namespace godwit::bench {

inline constexpr std::uint32_t kMixedRounds = 10;

inline Status hop_all(Exchange<Traveller<64>>& exchange) {
  exchange.process(Hop{});
  return {};
}
inline Status hop_all(cuda::Exchange<Traveller<64>>& exchange) {
  return exchange.process(Hop{});
}

// Microseconds of a round; `depart` emits what travels.
template <class Kind, class DepartAll>
Result<double> travel(Result<Kind> exchange, const DepartAll& depart) {
  if (!exchange) return tl::unexpected(exchange.error());
  double best_us = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    if (Status begun = depart(*exchange); !begun) return tl::unexpected(begun.error());
    Clock::time_point begin;
    // The first brings the travellers, the last ends their journeys; neither counts.
    for (std::uint32_t round = 0; round <= kMixedRounds + 1; ++round) {
      if (auto next = exchange->advance(); !next) return tl::unexpected(next.error());
      if (round == 0) begin = Clock::now();
      if (round == kMixedRounds) {
        const double us = us_since(begin) / kMixedRounds;
        best_us = repeat == 0 ? us : std::min(best_us, us);
      }
      if (Status hopped = hop_all(*exchange); !hopped) return tl::unexpected(hopped.error());
    }
  }
  return best_us;
}

// Ranks that do not all share the GPU's queues, one letter each: c is on a CPU, other letters are
// teams on the GPU. 64 bytes.
inline bool show_outside(std::string_view letters, std::uint64_t all) {
  const std::uint64_t per_rank = all / letters.size();
  const std::size_t bytes = per_rank * 64 * 5 + (std::size_t{16} << 20);
  double us = 0;
  const Status done = run_ranks(static_cast<Rank>(letters.size()), [&](Group& group) -> Status {
    const char letter = letters[static_cast<std::size_t>(group.rank())];
    using OnCpu = Exchange<Traveller<64>>;
    using OnGpu = cuda::Exchange<Traveller<64>>;
    const auto emit_all = [&](OnCpu& exchange) -> Status {
      for (std::uint64_t i = 0; i < per_rank; ++i) Depart<64>{kMixedRounds}(i, exchange);
      return {};
    };
    const auto launch_all = [&](OnGpu& exchange) {
      return exchange.launch(per_rank, Depart<64>{kMixedRounds});
    };
    const auto mine =
        letter == 'c' ? travel(OnCpu::create(group, {.queue_bytes = bytes}), emit_all)
                      : travel(OnGpu::create(group, {.queue_bytes = bytes,
                                                     .outside_bytes = bytes,
                                                     .team = static_cast<std::uint32_t>(letter)}),
                               launch_all);
    if (!mine) return tl::unexpected(mine.error());
    if (group.rank() == 0) us = *mine;
    return {};
  });
  std::printf("ranks %s, 64 bytes, %llu items: ", std::string(letters).c_str(),
              static_cast<unsigned long long>(all));
  if (done) {
    std::printf("%.1f us a round, %.3f G/s\n", us, static_cast<double>(all) / us / 1e3);
  } else {
    std::printf("%s\n", done.error().message.c_str());
  }
  std::fflush(stdout);
  return done.has_value();
}

// Emits to one rank.
struct Despatch {
  Rank to;
  template <class Out>
  GODWIT_KERNEL void operator()(std::uint64_t index, Out& out) const {
    Traveller<64> traveller{};
    traveller.state = static_cast<std::uint32_t>(index);
    out.emit(traveller, to);
  }
};

// How fast items leave a GPU for a rank on a CPU, and come from it: in each round one of two ranks
// emits, and the clock runs from then until the other has the items.
class Staging {
 public:
  explicit Staging(std::uint64_t items) : items_(items) {}

  bool show() {
    const Status done = run_ranks(
        2, [this](Group& group) { return group.rank() == 0 ? be_gpu(group) : be_cpu(group); });
    if (!done) {
      std::printf("%s\n", done.error().message.c_str());
      return false;
    }
    const auto gigabytes = [&](double us) { return static_cast<double>(items_ * 64) / us / 1e3; };
    std::printf(
        "%llu items of 64 bytes from a GPU to a CPU %.1f us, %.1f GB/s; back %.1f us, "
        "%.1f GB/s\n",
        static_cast<unsigned long long>(items_), us_[0], gigabytes(us_[0]), us_[1],
        gigabytes(us_[1]));
    return true;
  }

 private:
  static constexpr int kRounds = 12;  // even ones to the CPU

  [[nodiscard]] std::size_t bytes() const { return items_ * 64 * 5 + (std::size_t{16} << 20); }

  Status be_gpu(Group& group) {
    auto exchange = cuda::Exchange<Traveller<64>>::create(
        group, {.queue_bytes = bytes(), .outside_bytes = bytes()});
    if (!exchange) return tl::unexpected(exchange.error());
    return go(*exchange, 0, [&]() -> Status {
      if (Status launched = exchange->launch(items_, Despatch{1}); !launched) return launched;
      cudaStreamSynchronize(exchange->stream());
      return {};
    });
  }
  Status be_cpu(Group& group) {
    auto exchange = Exchange<Traveller<64>>::create(group, {.queue_bytes = bytes()});
    if (!exchange) return tl::unexpected(exchange.error());
    return go(*exchange, 1, [&]() -> Status {
      for (std::uint64_t i = 0; i < items_; ++i) Despatch{0}(i, *exchange);
      return {};
    });
  }
  template <class Kind, class Emit>
  Status go(Kind& exchange, int mine, const Emit& emit) {
    for (int round = 0; round < kRounds; ++round) {
      const int way = round % 2;
      if (way == mine) {
        if (Status emitted = emit(); !emitted) return emitted;
        begin_ = Clock::now();
      }
      const auto next = exchange.advance();
      if (!next) return tl::unexpected(next.error());
      if (way != mine) {
        const double us = us_since(begin_);
        us_[way] = round < 2 ? us : std::min(us, us_[way]);
      }
    }
    return {};
  }

  std::uint64_t items_;
  Clock::time_point begin_;  // set before a rank ends the round, read when the other has
  double us_[2] = {};        // to the CPU, to the GPU
};

inline bool show_mixed() {
  bool good = true;
  for (const char* const letters : {"cccc", "gggg", "gghh", "ghij", "cg", "ccgg"}) {
    good = show_outside(letters, 10'000) && good;
    good = show_outside(letters, 4'000'000) && good;
  }
  good = Staging(1'000).show() && good;
  good = Staging(4'000'000).show() && good;
  return good;
}

}  // namespace godwit::bench
