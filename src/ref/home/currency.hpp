// Words in shared memory by which processes of this host see whether what they know of an object
// still holds, without asking.
//
// A word is vouched for by its generation: as long as it has the one a process was told, and the
// home lives, the version that it was told of is its object's newest, and can be had.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/fd.hpp"
#include "fabric/memory/life_word.hpp"
#include "fabric/memory/memfd.hpp"
#include "godwit/error.hpp"

namespace godwit::ref {

// The home's. Any thread.
class Currency {
 public:
  static constexpr std::size_t kWords = 65'536;
  static constexpr std::size_t kBytes = kWords * sizeof(std::uint32_t);

  // Errors: unsupported (the kernel keeps no life words), resource_exhausted.
  [[nodiscard]] static Result<std::unique_ptr<Currency>> create();

  // Not 0 until end(); 0: all words are in use.
  [[nodiscard]] std::uint64_t issue();
  // From here on nobody is told that it holds.
  void end(std::uint64_t ticket);

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
    return words[index].load(std::memory_order_acquire) == ticket >> 32U &&
           life_.alive_after_loads();
  }

 private:
  HomeCurrency(fabric::Mapping words, fabric::PeerLife life) noexcept
      : words_(std::move(words)), life_(std::move(life)) {}

  fabric::Mapping words_;
  fabric::PeerLife life_;
};

}  // namespace godwit::ref
