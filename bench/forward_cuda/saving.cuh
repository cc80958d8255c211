// What it costs to save items that lie in a GPU's memory, and to go on from that, beside writing as
// many bytes of the host's to as many files.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "forward_cuda/travellers.cuh"
#include "godwit/cuda/exchange.cuh"
#include "godwit/group.hpp"

namespace godwit::bench {

inline constexpr Rank kSavingRanks = 4;

// MiB of the host's memory that this process has had at most, since the last forget_high().
inline void forget_high() {
  std::ofstream("/proc/self/clear_refs") << 5;
}
inline double resident_high_mib() {
  std::ifstream facts("/proc/self/status");
  for (std::string word; facts >> word;) {
    double kib = 0;
    if (word == "VmHWM:" && facts >> kib) return kib / 1024;
  }
  return 0;
}

// Milliseconds until so many bytes of every rank are on the disk.
inline double write_ms(const std::string& folder, std::size_t bytes_each) {
  const auto begin = Clock::now();
  const Status done = run_ranks(kSavingRanks, [&](Group& group) -> Status {
    const std::vector<char> piece(std::size_t{256} << 10, 'x');
    const std::string path = folder + "/plain-" + std::to_string(group.rank());
    const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    bool good = file >= 0;
    for (std::size_t left = bytes_each; good && left > 0;) {
      const ssize_t wrote = ::write(file, piece.data(), std::min(left, piece.size()));
      good = wrote > 0;
      if (good) left -= static_cast<std::size_t>(wrote);
    }
    good = good && ::fsync(file) == 0;
    if (file >= 0) ::close(file);
    ::unlink(path.c_str());
    return good ? Status{} : tl::unexpected(Error{ErrorCode::io, "cannot write " + path});
  });
  return done ? us_since(begin) / 1e3 : 0;
}

inline bool show_saving(std::uint64_t all) {
  const std::uint64_t each = all / kSavingRanks;
  const std::string folder =
      std::filesystem::temp_directory_path() / ("godwit-bench-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const double plain_ms = write_ms(folder, each * 64);
  forget_high();
  const double before_mib = resident_high_mib();
  double save_ms = 0;
  double load_ms = 0;
  const auto save_and_load = [&](Group& group) -> Status {
    using TheExchange = cuda::Exchange<Traveller<64>>;
    const cuda::Options options{.queue_bytes = each * 64 * 5 / 2 + (std::size_t{8} << 20)};
    auto first = TheExchange::create(group, options);
    if (!first) return tl::unexpected(first.error());
    if (Status begun = first->launch(each, Depart<64>{1}); !begun) return begun;
    if (auto round = first->advance(); !round) return tl::unexpected(round.error());
    const auto saving = Clock::now();
    if (Status saved = first->checkpoint(folder); !saved) return saved;
    if (group.rank() == 0) save_ms = us_since(saving) / 1e3;
    auto second = TheExchange::create(group, options);
    if (!second) return tl::unexpected(second.error());
    const auto loading = Clock::now();
    if (auto loaded = second->resume(folder); !loaded) return tl::unexpected(loaded.error());
    const auto round = second->advance();
    if (!round) return tl::unexpected(round.error());
    if (group.rank() == 0) load_ms = us_since(loading) / 1e3;
    return round->alive == each * kSavingRanks
               ? Status{}
               : tl::unexpected(Error{ErrorCode::internal, "items are missing"});
  };
  const Status done = run_ranks(kSavingRanks, save_and_load);
  std::filesystem::remove_all(folder);
  if (!done) {
    std::printf("saving: %s\n", done.error().message.c_str());
    return false;
  }
  std::printf(
      "%d ranks, 64 bytes, %llu items: saved in %.1f ms, gone on with in %.1f ms; as many bytes "
      "written by %d threads %.1f ms; %.0f MiB of the host's memory more\n",
      kSavingRanks, static_cast<unsigned long long>(all), save_ms, load_ms, kSavingRanks, plain_ms,
      resident_high_mib() - before_mib);
  return true;
}

}  // namespace godwit::bench
