// How this process gets at what homes of its host show: their words, and a segment of their memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/ids.hpp"
#include "godwit/handle.hpp"
#include "ref/access/segment_map.hpp"
#include "ref/home/currency.hpp"

namespace godwit::ref {

struct Reach {
  NodeId home;
  std::shared_ptr<const HomeCurrency> currency;
  std::uint64_t segment = 0;
  SegmentMap::Mapped memory;  // null: no segment is mapped yet
};

// Any thread. All of it can be had elsewhere, under locks that all threads share: here each core
// has places of its own, so that threads seldom meet.
class Reaches {
 public:
  using Pointer = std::shared_ptr<const Reach>;

  // Null: not known here.
  [[nodiscard]] Pointer find(NodeId home);
  void keep(Pointer reach);
  void forget(NodeId home);
  // Lets go of what was not used since the last time, since it keeps memory mapped. True: something
  // is left.
  bool sweep();

 private:
  static constexpr std::size_t kCores = 64;       // further ones share with these
  static constexpr std::size_t kHomesAtOnce = 4;  // likewise
  struct Place {
    Pointer reach;
    bool used = false;
  };
  struct alignas(64) Core {
    std::mutex mutex;
    std::array<Place, kHomesAtOnce> places;
  };
  [[nodiscard]] Core& this_core() noexcept;
  [[nodiscard]] static Place& place_in(Core& core, NodeId home) noexcept {
    return core.places[home.value % kHomesAtOnce];
  }

  std::array<Core, kCores> cores_;
};

}  // namespace godwit::ref
