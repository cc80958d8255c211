// Decides which of many equal messages are written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.hpp"

namespace godwit::trace {

// Lets `limit` messages of a kind through per window and counts the others. Single-threaded;
// memory is fixed. Two kinds that share a slot displace each other: then one may be written more
// often than the limit, but what was held back is always accounted for.
class RepeatFilter {
 public:
  static constexpr std::size_t kSlots = 256;
  static constexpr std::size_t kKindLimit = 128;  // of a kind's text, in reports

  struct Report {
    std::string kind;
    std::uint64_t held_back = 0;
  };

  RepeatFilter(std::uint32_t limit, Duration window) : limit_(limit), window_(window) {}

  // Whether to write a message of this kind now. Appends to `reports` what a window that is over
  // held back.
  [[nodiscard]] bool admit(std::string_view kind, Time now, std::vector<Report>& reports);
  // What is held back at the moment; forgets it.
  [[nodiscard]] std::vector<Report> drain();

 private:
  struct Slot {
    std::size_t hash = 0;
    Time opened;
    std::uint32_t written = 0;
    std::uint64_t held_back = 0;
    std::string kind;
  };
  static void report(Slot& slot, std::vector<Report>& reports);

  std::uint32_t limit_;
  Duration window_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace godwit::trace
