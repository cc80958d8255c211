// The elements of a shard, read by the calling thread: through its mapping, or in large gets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "godwit/codec.hpp"
#include "godwit/mobile/region.hpp"
#include "ops/attachment.hpp"

namespace godwit::ops {

// One thread.
class ShardReader {
 public:
  // Gets of so many bytes, and so many of them under way at a time.
  static constexpr std::uint64_t kGetBytes = std::uint64_t{256} << 10;
  static constexpr std::size_t kGetsInFlight = 4;

  // `verb` is for failures. With `directly`, mapped shards are loaded from.
  ShardReader(const Attachment& region, const char* verb, bool directly)
      : region_(region), verb_(verb), directly_(directly) {}

  // visit(offset, value) for every element, in the order of offsets; words are loaded whole. What
  // was visited counts only if the outcome is good.
  template <class T, class Visit>
  [[nodiscard]] Outcome<void> each(std::uint32_t shard, Visit&& visit) const {
    const std::uint64_t count = region_.map().shard_elements(shard, region_.elements());
    const auto& mapped = region_.shards()[shard].mapped;
    if (mapped == nullptr || !directly_) return each_asked<T>(shard, count, visit);
    visit_run(shard, 0, reinterpret_cast<const T*>(mapped->data()), count, visit);
    if (mapped->is_good()) return {};
    return tl::unexpected(region_.why_not_good(note(shard)));
  }

 private:
  // Places of a hashed region that has not grown to its capacity may hold no element.
  template <class T, class Visit>
  void visit_run(std::uint32_t shard, std::uint64_t first, const T* from, std::uint64_t count,
                 Visit& visit) const {
    const ShardMap& map = region_.map();
    const std::uint64_t elements = region_.elements();
    const bool has_gaps = map.abi().kind == GODWIT_SHARD_HASHED && elements < map.capacity();
    for (std::uint64_t i = 0; i < count; ++i) {
      if (has_gaps && map.index_at({shard, first + i}) >= elements) continue;
      visit(first + i, godwit::detail::load_element(from + i));
    }
  }

  template <class T, class Visit>
  [[nodiscard]] Outcome<void> each_asked(std::uint32_t shard, std::uint64_t count,
                                         Visit& visit) const {
    struct Flight {
      std::uint64_t first = 0;
      std::uint64_t count = 0;
      detail::CallHandle call{};
    };
    const std::uint64_t per_get = std::max<std::uint64_t>(1, kGetBytes / sizeof(T));
    std::deque<Flight> flights;
    for (std::uint64_t next = 0; next < count || !flights.empty();) {
      while (next < count && flights.size() < kGetsInFlight) {
        const std::uint64_t some = std::min(per_get, count - next);
        flights.push_back(
            {next, some, region_.call(Op::get_bulk, note(shard), region_.id(), shard, next, some)});
        next += some;
      }
      Flight flight = std::move(flights.front());
      flights.pop_front();
      flight.call.wait();
      if (!flight.call.ok()) return tl::unexpected(failure_of(flight.call));
      std::span<const std::byte> bytes;
      DecodeError error;
      if (!decode_result(flight.call.result(), bytes, error) ||
          bytes.size() != flight.count * sizeof(T)) {
        return tl::unexpected(Failure{Ending::rejected, ErrorCode::bad_format, true,
                                      "the home sent something that is not elements"});
      }
      visit_run(shard, flight.first, reinterpret_cast<const T*>(bytes.data()), flight.count, visit);
    }
    return {};
  }

  // What is read is part of something that is about the whole region.
  [[nodiscard]] Note note(std::uint32_t shard) const {
    return region_.note(verb_, 0, region_.elements(), shard);
  }

  const Attachment& region_;
  const char* const verb_;
  const bool directly_;
};

}  // namespace godwit::ops
