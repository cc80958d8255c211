// Calls that begin when an element changes: which words they wait for, and which have changed.
//
// Nobody is told of a store, so words are looked at: those of a region when a function that could
// write to it has returned, and all of them every kPeriod. A look takes a few words at a time,
// since others wait for the polling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/scheduler.hpp"
#include "call/regions.hpp"
#include "godwit/error.hpp"
#include "wire/call.hpp"

namespace godwit::call {

struct IncomingCall;

// The owning thread's alone.
class Watches {
 public:
  // All are looked at every kPeriod, which takes about 0.12 ms for so many, and each holds its
  // arguments.
  static constexpr std::size_t kMax = 16'384;
  static constexpr std::size_t kWordsPerLook = 512;
  // Of the looks at everything. Changes by functions that have not returned yet are noticed then.
  static constexpr Duration kPeriod = std::chrono::milliseconds(10);

  struct Changed {
    IncomingCall* call = nullptr;
    std::uint64_t bits = 0;  // of the element, as it is now
  };
  struct Ended {
    IncomingCall* call = nullptr;
    Error why;
  };

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  // The element's bits if they differ from those last seen already; none: the call is watched for
  // from now on. Errors: those of Regions::view, type_mismatch, invalid_argument (the element is
  // not here), resource_exhausted.
  [[nodiscard]] Result<std::optional<std::uint64_t>> add(Regions& regions, IncomingCall& call);
  // A call that is not watched for is left alone.
  void remove(IncomingCall& call) noexcept;

  // The region's words, or all, are to be looked at. True: there are some.
  bool touch(std::uint64_t region);
  bool touch_all();
  // The calls of up to kWordsPerLook touched words that have changed, which are removed. Go on
  // while there are touched ones.
  [[nodiscard]] std::vector<Changed> look();
  [[nodiscard]] bool has_touched() const noexcept { return !touched_.empty(); }

  // Removes the calls whose regions are gone, or whose deadline has passed. O(watches).
  [[nodiscard]] std::vector<Ended> end_lost(Regions& regions);
  [[nodiscard]] std::vector<Ended> end_late(Time now);

 private:
  struct Watch {
    const void* word = nullptr;
    std::uint64_t last_seen = 0;
    IncomingCall* call = nullptr;
    std::uint32_t size = 0;
  };
  struct Group {
    Regions::Pin pin;  // keeps the memory of the words
    std::vector<Watch> watches;
    std::size_t next = 0;  // to be looked at
    bool touched = false;
    bool again = false;  // touched while it was being looked at: once more from the beginning
  };
  void touch(std::uint64_t region, Group& group);
  void remove_at(Group& group, std::size_t at) noexcept;
  void forget_if_empty(std::uint64_t region) noexcept;

  std::unordered_map<std::uint64_t, Group> groups_;  // by region
  std::deque<std::uint64_t> touched_;                // regions to be looked at; the last one is
  std::size_t count_ = 0;
};

}  // namespace godwit::call
