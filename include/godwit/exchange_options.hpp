// What an Exchange can be told when it is made, and what it tells of itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "godwit/kernel.hpp"

namespace godwit {

struct ExchangeOptions {
  // Items travel in chunks of this size: 1 KiB to 16 MiB.
  std::size_t chunk_bytes = 64 * 1024;
  // Memory for this rank's outgoing items until their destinations have processed them. What
  // exceeds it is written to a file and leaves as room comes back.
  std::size_t queue_bytes = std::size_t{256} << 20;
  // How much may lie in that file; 0: an item beyond queue_bytes is refused (Emitted::full).
  std::size_t spill_bytes = std::size_t{16} << 30;
  // Where it lies, nameless: nothing is left behind. Empty: the system's folder for temporary
  // files.
  std::string spill_folder = {};
  // Threads that run the kernel on this rank, the calling one included.
  std::size_t workers = 1;
  // Incoming items by priority, then one kind after another, each in the order of its source ranks,
  // and of one source in the order in which a single worker would have emitted them: the same in
  // every run, however ranks are laid out. run() goes by rounds then.
  bool deterministic = false;
  // Ranks that give the same number here, not 0, hold the same data: in a run without rounds, one
  // that has nothing to do takes over items that wait at another. Its kernel processes them then,
  // and out.rank() is the rank that does.
  std::uint32_t shares_work = 0;
  // Keep the last so many events of this rank (kernels, rounds, waits) for Exchange::save_trace();
  // 64 bytes each. 0: none.
  std::size_t trace_events = 0;
  // How long ranks wait for each other, when making the exchange and in every round.
  std::chrono::milliseconds patience{60'000};
};

// What advance() brought.
struct Round {
  std::uint64_t number = 0;     // from 1; goes on from a checkpoint's after resume()
  std::uint64_t alive = 0;      // items not yet processed, on all ranks together
  std::uint64_t incoming = 0;   // of them: this rank's incoming items
  std::uint64_t held_back = 0;  // of them: for lack of room at their source or with a GPU
};

// How run() goes about it.
enum class Pace : std::uint8_t {
  rounds,  // everybody processes everything, then all items move
  free,    // chunks are processed as they come, and move as they fill
};

struct RunOptions {
  Pace pace = Pace::free;
  // All items are saved there from time to time, with what ranks keep (Exchange::checkpoint), so
  // that a later program can go on from there (Exchange::resume); the pace is by rounds then. All
  // ranks name the same folder; rank 0 says when. It is left as it is when the run has ended.
  std::string checkpoint_folder = {};
  // When: between two rounds, if so much time has passed since the last (0: however much has) ...
  std::chrono::milliseconds checkpoint_interval{10'000};
  // ... and after every so many rounds of the run (0: however many).
  std::uint64_t checkpoint_every = 0;

  [[nodiscard]] bool saves() const noexcept {
    return !checkpoint_folder.empty() && (checkpoint_every > 0 || checkpoint_interval.count() > 0);
  }
};

struct RunReport {
  std::uint64_t processed = 0;  // items, on this rank
  std::uint64_t rounds = 0;     // 0 if it went without
};

// Counts of one rank since the exchange was made.
struct ExchangeStatus {
  std::uint64_t emitted = 0;  // items, reduced ones included
  std::uint64_t stayed = 0;   // of them: for this rank itself
  std::uint64_t arrived = 0;  // items handed to the kernel or folded
  std::uint64_t chunks_sent = 0;
  std::uint64_t taken_over = 0;                // items that waited at another rank (shares_work)
  std::uint64_t spilled = 0;                   // items that waited in the file
  std::uint64_t queue_bytes = 0;               // in use now
  std::uint64_t queue_high_bytes = 0;          // at most so far
  std::vector<std::uint64_t> emitted_to = {};  // by rank
  // By rank: items that a kernel emitted to the rank from which the chunk it was processing had
  // come. Where most of what arrives goes straight back, items play ping-pong over a border: a
  // kernel that takes more than one step at a time, or another cut of the domain, saves those hops.
  std::vector<std::uint64_t> sent_back_to = {};
};

}  // namespace godwit
