// A fleet with a list dealt out to its nodes, and the ways to follow it from a client.
#pragma once

#include <memory>
#include <string>

#include "chase/point.hpp"
#include "floors/chase_list.hpp"
#include "godwit/godwit.hpp"

namespace godwit::bench {

// How much of each contender is enough for one round.
struct Enough {
  std::uint64_t time_ns = 80'000'000;
  std::size_t chases = 20'000;
};

// One thread.
class Course {
 public:
  using List = Region<std::uint64_t>;

  // Over all nodes of the fleet; `next` is what the list holds.
  [[nodiscard]] static Result<std::unique_ptr<Course>> create(Fleet fleet,
                                                              std::span<const std::uint64_t> next);

  // Every chase is checked; one that ends in the wrong place is an error.
  [[nodiscard]] Result<floors::Sample> measure(Column column, const Point& point,
                                               const Enough& enough) const;

 private:
  Course(Fleet fleet, std::span<const std::uint64_t> next)
      : fleet_(std::move(fleet)), next_(next) {}

  Fleet fleet_;
  std::span<const std::uint64_t> next_;
  std::optional<List> list_;
};

}  // namespace godwit::bench
