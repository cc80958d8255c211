// Words in shared memory by which processes of this host see whether what they know of an object
// still holds, without asking.
//
// A word is vouched for by its generation: as long as it has the one a process was told, and the
// home lives, the version that it was told of is its object's newest, and can be had.
//
// Behind the words the home shows where small objects lie that it vouches for. Who has mapped its
// memory copies such a one, looks at the word once more, and need not ask for it at all.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "fabric/fd.hpp"
#include "fabric/fence.hpp"
#include "fabric/memory/life_word.hpp"
#include "fabric/memory/memfd.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"

namespace godwit::ref {

// Where the bytes lie that a handle stands for, for as long as the ticket holds.
struct Whereabouts {
  // Of a handle that is good for reading the newest version. The handle itself may allow more, and
  // is nobody's who was not given it.
  std::uint64_t proof = 0;
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t ticket = 0;
};

// A place in shared memory: one writes, others read, and nobody waits. Who comes while it is being
// written finds nothing.
class alignas(32) ShownPlace {
 public:
  void show(const Whereabouts& place) noexcept;
  [[nodiscard]] std::optional<Whereabouts> read() const noexcept;
  // What read() may find; by itself it says nothing.
  [[nodiscard]] std::uint64_t proof() const noexcept {
    return proof_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t ticket() const noexcept {
    return ticket_in(state_.load(std::memory_order_relaxed));
  }

 private:
  // A state is a turn, odd while the place is being written, and a ticket without the half of its
  // index that is 0: the same one does not come again while somebody reads.
  static constexpr unsigned kTicketBits = 48;
  static constexpr std::uint64_t kTurn = std::uint64_t{1} << kTicketBits;
  [[nodiscard]] static std::uint64_t ticket_in(std::uint64_t state) noexcept {
    return (state % kTurn >> 16U) << 32U | (state & 0xFFFFU);
  }
  [[nodiscard]] static std::uint64_t state_of(std::uint64_t turn, std::uint64_t ticket) noexcept {
    return turn / kTurn * kTurn | ticket >> 32U << 16U | (ticket & 0xFFFFU);
  }
  [[nodiscard]] static bool is_being_written(std::uint64_t state) noexcept {
    return (state & kTurn) != 0;
  }

  std::atomic<std::uint64_t> state_;  // 0: nobody has written it yet
  std::atomic<std::uint64_t> proof_;
  std::atomic<std::uint64_t> segment_;
  std::atomic<std::uint64_t> offset_;
};
static_assert(sizeof(ShownPlace) == 32);

// The home's. Any thread.
class Currency {
 public:
  static constexpr std::size_t kWords = 65'536;  // an index has 16 bits
  // An object is shown in one of the places of its row, by its id; beyond those, objects take the
  // places from each other.
  static constexpr std::size_t kRows = 16'384;
  static constexpr std::size_t kPlacesOfRow = 4;
  // Larger objects are mapped, which takes a pin.
  static constexpr std::size_t kMaxShownBytes = std::size_t{16} << 10;
  static constexpr std::size_t kWordsBytes = kWords * sizeof(std::uint32_t);
  static constexpr std::size_t kBytes = kWordsBytes + kRows * kPlacesOfRow * sizeof(ShownPlace);

  // Errors: unsupported (the kernel keeps no life words), resource_exhausted.
  [[nodiscard]] static Result<std::unique_ptr<Currency>> create();

  // Not 0 until end(); 0: all words are in use.
  [[nodiscard]] std::uint64_t issue();
  // From here on nobody is told that it holds, nor finds the place that it belongs to.
  void end(std::uint64_t ticket);
  // `place` is the object's; its bytes neither change nor go before its ticket ends.
  void show(const ObjectId& object, const Whereabouts& place) noexcept;
  // It will be shown soon.
  void fetch_ahead(const ObjectId& object) const noexcept;

  // For a peer to HomeCurrency::open(). Errors: resource_exhausted.
  struct Shared {
    fabric::Fd words;
    fabric::Fd life;
  };
  [[nodiscard]] Result<Shared> share() const;

 private:
  Currency(fabric::Fd memory, fabric::Mapping words, std::unique_ptr<fabric::LifeWord> life);
  [[nodiscard]] std::atomic<std::uint32_t>& word(std::uint32_t index) const noexcept {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(words_.data())[index];
  }
  [[nodiscard]] std::span<ShownPlace> row(const ObjectId& object) const noexcept;
  // Of a ticket of this home's.
  [[nodiscard]] bool holds(std::uint64_t ticket) const noexcept {
    const std::uint64_t generation = ticket >> 32U;
    return generation != 0 && word(static_cast<std::uint32_t>(ticket)).load() == generation;
  }

  fabric::Fd memory_;
  fabric::Mapping words_;
  std::unique_ptr<fabric::LifeWord> life_;
  std::mutex mutex_;
  std::vector<std::uint32_t> free_;
};

// Another process's view of them. Any thread.
class HomeCurrency {
 public:
  // Errors: protocol_violation, resource_exhausted.
  [[nodiscard]] static Result<HomeCurrency> open(const fabric::Fd& words, const fabric::Fd& life);

  // At some moment after all loads that this thread has made so far it held. Costs two loads.
  [[nodiscard]] bool holds(std::uint64_t ticket) const noexcept {
    const auto index = static_cast<std::uint32_t>(ticket) % Currency::kWords;
    const auto* words = reinterpret_cast<const std::atomic<std::uint32_t>*>(words_.data());
    fabric::load_fence();
    return words[index].load(std::memory_order_acquire) == ticket >> 32U &&
           life_.alive_after_loads();
  }

  // Where the home shows the object of this very handle to lie. The bytes found there are the
  // object's if the ticket still holds once they have been copied.
  [[nodiscard]] std::optional<Whereabouts> find(const Handle& handle) const noexcept;

 private:
  HomeCurrency(fabric::Mapping words, fabric::PeerLife life) noexcept
      : words_(std::move(words)), life_(std::move(life)) {}

  fabric::Mapping words_;
  fabric::PeerLife life_;
};

}  // namespace godwit::ref
