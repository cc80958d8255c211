// A transport of particles whose sums depend on the order of all that happened, to the last bit:
// one that goes on from a checkpoint and ends with the same bits has lost, doubled and reordered
// nothing.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>

#include "base/fail.hpp"
#include "base/random.hpp"
#include "godwit/exchange.hpp"

namespace godwit::forward {

struct Neutron {
  std::uint64_t id = 0;
  double energy = 0;
  std::uint64_t step = 0;
};
struct Photon {
  std::uint64_t id = 0;
  double energy = 0;
};
struct Burn {
  std::uint64_t id = 0;
  double energy = 0;
};

struct TransportOptions {
  std::string folder = {};  // of checkpoints; empty: none
  std::uint64_t every = 1;  // rounds
  std::uint64_t neutrons = 200;
  std::uint64_t steps = 40;
  // Told of everything that happens on this rank: tests interrupt it there.
  enum class Moment : std::uint8_t { kernel, fold, save };
  std::function<void(Moment)> at = [](Moment) {};
};

// What one rank has summed up.
struct TransportTally {
  std::uint64_t steps = 0;
  double energy = 0;
  std::array<double, 16> cells{};

  // To the bit.
  [[nodiscard]] std::string text() const {
    std::uint64_t bits = std::bit_cast<std::uint64_t>(energy);
    for (const double cell : cells) bits = mix64(bits ^ std::bit_cast<std::uint64_t>(cell));
    return fmt::format("{} steps, {:016x}", steps, bits);
  }
  friend TransportTally operator+(TransportTally mine, const TransportTally& theirs) {
    mine.steps += theirs.steps;
    mine.energy += theirs.energy;
    for (std::size_t i = 0; i < mine.cells.size(); ++i) mine.cells[i] += theirs.cells[i];
    return mine;
  }
};

struct TransportKernel {
  const TransportOptions& options;
  TransportTally& tally;

  template <class Out>
  void operator()(const Neutron& neutron, Out& out) const {
    options.at(TransportOptions::Moment::kernel);
    ++tally.steps;
    tally.energy = tally.energy * 0.999 + neutron.energy;
    out.emit(Burn{.id = neutron.id / 3, .energy = neutron.energy * 0.1},
             home(neutron.id / 3, out.ranks()));
    if (neutron.step == options.steps) return;
    const std::uint64_t id = mix64(neutron.id + neutron.step);
    if (id % 3 == 0) {
      out.emit(Photon{.id = mix64(id), .energy = neutron.energy * 0.3}, home(id, out.ranks()));
    }
    out.emit(Neutron{.id = id, .energy = neutron.energy * 0.97, .step = neutron.step + 1},
             home(id, out.ranks()));
  }
  template <class Out>
  void operator()(const Photon& photon, Out& out) const {
    ++tally.steps;
    tally.energy = tally.energy * 0.999 - photon.energy;
    if (photon.id % 4 == 0) return;
    out.emit(Photon{.id = mix64(photon.id), .energy = photon.energy * 0.9},
             home(photon.id, out.ranks()));
  }
  static Rank home(std::uint64_t id, Rank ranks) {
    return static_cast<Rank>(mix64(id) % static_cast<std::uint64_t>(ranks));
  }
};

// Begins, or goes on from what is saved in the folder, and comes to the end.
inline Result<TransportTally> transport(Group& group, const TransportOptions& options) {
  using Moment = TransportOptions::Moment;
  using TheExchange = Exchange<Neutron, Photon, Reduced<Burn>>;
  GODWIT_TRY(auto exchange,
             TheExchange::create(group, {.chunk_bytes = 1024, .deterministic = true}));
  TransportTally tally;
  exchange.template reduce<Burn>([&](const Burn& burn) {
    options.at(Moment::fold);
    double& cell = tally.cells[burn.id % tally.cells.size()];
    cell = cell * 0.999 + burn.energy;
  });
  const auto save_name = [&] {
    options.at(Moment::save);
    return fmt::format("rank {}", group.rank());
  };
  exchange.keep(save_name, [](std::span<const std::byte>, Rank) {});
  exchange.keep(tally, std::plus<>());
  std::uint64_t round = 0;
  if (!options.folder.empty()) {
    GODWIT_TRY(round, exchange.resume(options.folder, [&](const auto& item, Rank) {
      return TransportKernel::home(item.id, group.ranks());
    }));
  }
  for (std::uint64_t i = 0; round == 0 && i < options.neutrons; ++i) {
    const Neutron neutron{.id = mix64(i), .energy = 1.0 / static_cast<double>(i + 1)};
    if (TransportKernel::home(i, group.ranks()) != group.rank()) continue;
    exchange.emit(neutron, TransportKernel::home(neutron.id, group.ranks()));
  }
  GODWIT_CHECK(exchange.run(TransportKernel{options, tally}, {.pace = Pace::rounds,
                                                              .checkpoint_folder = options.folder,
                                                              .checkpoint_every = options.every}));
  return tally;
}

}  // namespace godwit::forward
