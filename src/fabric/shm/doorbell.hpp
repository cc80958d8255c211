// How processes wake each other, and how a process finds the links that have something for it.
//
// A link is hot while its consumer polls the ring itself; the producer then only writes records.
// For a cold link the producer also sets a bit, so that an idle poll over many links looks at one
// cache line. A consumer about to sleep sets `asleep`, fences and looks once more; a producer that
// sees it rings the eventfd.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/fd.hpp"
#include "fabric/fence.hpp"
#include "fabric/memory/memfd.hpp"
#include "fabric/shm/layout.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric::shm {

// This process's own. Used by the transport's owner.
class Doorbell {
 public:
  [[nodiscard]] static Result<Doorbell> create();

  [[nodiscard]] const Fd& event() const { return event_; }
  // What a peer needs: state, ready, eventfd.
  static constexpr std::size_t kFdCount = 3;
  [[nodiscard]] Result<std::vector<Fd>> share() const;

  void set_cold(std::size_t link, bool cold) noexcept;
  [[nodiscard]] bool any_ready() const noexcept {
    std::uint64_t all = 0;
    for (const auto& word : ready().ready) all |= word.load(std::memory_order_relaxed);
    return all != 0;
  }
  // Links of word `index` that were marked since the last call.
  [[nodiscard]] std::uint64_t take_ready(std::size_t index) noexcept {
    auto& word = ready().ready[index];
    return word.load(std::memory_order_relaxed) != 0 ? word.exchange(0, std::memory_order_seq_cst)
                                                     : 0;
  }
  // Follow fall_asleep() with a full fence and one more look at everything.
  void fall_asleep() noexcept { state().asleep.store(++sleeps_, std::memory_order_seq_cst); }
  void wake_up() noexcept { state().asleep.store(++sleeps_, std::memory_order_release); }

 private:
  [[nodiscard]] DoorState& state() const noexcept {
    return *reinterpret_cast<DoorState*>(state_.data());
  }
  [[nodiscard]] DoorReady& ready() const noexcept {
    return *reinterpret_cast<DoorReady*>(ready_.data());
  }

  Fd state_memory_;
  Fd ready_memory_;
  Fd event_;
  Mapping state_;
  Mapping ready_;
  std::uint64_t sleeps_ = 0;  // odd while asleep
};

// A peer's, as seen over one link.
class PeerDoorbell {
 public:
  PeerDoorbell() noexcept = default;
  // `link`: the number the peer gave this link. Errors: protocol_violation, resource_exhausted.
  [[nodiscard]] static Result<PeerDoorbell> open(std::vector<Fd> fds, std::size_t link);

  // After publishing a record. Without a fence in between this may miss a peer that goes to sleep
  // at this very moment: call it again after one.
  void notify() noexcept {
    if ((state().cold[word_].load(std::memory_order_relaxed) & bit_) != 0) [[unlikely]]
      mark();
    if (is_asleep()) [[unlikely]]
      ring();
  }
  [[nodiscard]] bool is_asleep() const noexcept {
    return (state().asleep.load(std::memory_order_acquire) & 1U) != 0;
  }
  // Makes the peer look at the link even if it is hot.
  void summon() noexcept {
    mark();
    full_fence();
    if ((state().asleep.load(std::memory_order_seq_cst) & 1U) != 0) ring();
  }

 private:
  [[nodiscard]] const DoorState& state() const noexcept {
    return *reinterpret_cast<const DoorState*>(state_.data());
  }
  void mark() noexcept;
  void ring() noexcept;

  Mapping state_;
  Mapping ready_;
  Fd event_;
  std::size_t word_ = 0;
  std::uint64_t bit_ = 0;
  std::uint64_t rung_ = 0;  // the value of `asleep` we rang for
};

}  // namespace godwit::fabric::shm
