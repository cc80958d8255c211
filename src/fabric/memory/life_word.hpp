// How a process that reads another one's memory learns that the other has died.
//
// Loads from a dead process's shared memory still succeed, so nothing loaded from it may be called
// good without a look at its life word, afterwards. The word is a robust futex held by a thread of
// the process: however the process ends, the kernel itself marks the word, before anybody can see
// the end in another way (wait() returns, a socket closes).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "fabric/fd.hpp"
#include "fabric/fence.hpp"
#include "fabric/memory/memfd.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric {

// The process's own; one per process is enough. Costs a thread that sleeps, and two pages.
class LifeWord {
 public:
  // Tries first, on a word nobody sees, whether the kernel keeps its part. Errors: unsupported,
  // resource_exhausted.
  [[nodiscard]] static Result<std::unique_ptr<LifeWord>> create();
  // From here on every peer sees the end.
  ~LifeWord();
  LifeWord(const LifeWord&) = delete;
  LifeWord& operator=(const LifeWord&) = delete;

  // A descriptor for a peer to PeerLife::open(). Any thread. Errors: resource_exhausted.
  [[nodiscard]] Result<Fd> share() const { return duplicate(page_memory_); }

 private:
  class Keeper;
  LifeWord(Fd page_memory, Mapping page, std::unique_ptr<Keeper> keeper) noexcept;

  Fd page_memory_;
  Mapping page_;
  std::unique_ptr<Keeper> keeper_;
};

// A peer's view of it. Any thread.
class PeerLife {
 public:
  PeerLife() noexcept = default;
  // Errors: protocol_violation (not a life page), resource_exhausted.
  [[nodiscard]] static Result<PeerLife> open(const Fd& page);

  [[nodiscard]] bool is_open() const noexcept { return page_.data() != nullptr; }
  // True: at some moment after all loads that this thread has made so far, the process lived. Costs
  // one load. Once false it stays false.
  [[nodiscard]] bool alive_after_loads() const noexcept {
    load_fence();
    const std::uint32_t word = reinterpret_cast<const std::atomic<std::uint32_t>*>(page_.data())
                                   ->load(std::memory_order_acquire);
    return word != 0 && (word & kOwnerDied) == 0;
  }

 private:
  static constexpr std::uint32_t kOwnerDied = 0x4000'0000;  // FUTEX_OWNER_DIED
  explicit PeerLife(Mapping page) noexcept : page_(std::move(page)) {}

  Mapping page_;
};

}  // namespace godwit::fabric
