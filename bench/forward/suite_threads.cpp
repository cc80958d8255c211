#include <algorithm>

#include "forward/hops.hpp"
#include "forward/suites.hpp"
#include "ref/contenders.hpp"

namespace godwit::bench {
namespace {

// Beyond the caches, rounds are bound by memory; that is where the goal stands.
constexpr std::size_t kBeyondCaches = 1'000'000;

std::string count_text(std::size_t items) {
  if (items % 1'000'000 == 0) return fmt::format("{} M", items / 1'000'000);
  if (items % 1'000 == 0) return fmt::format("{} k", items / 1'000);
  return fmt::format("{}", items);
}

Course course_of(const ForwardScope& scope, Rank ranks, std::size_t items) {
  const std::size_t total = items * static_cast<std::size_t>(ranks);
  const std::size_t enough = scope.quick ? 2'000'000 : 20'000'000;
  return {
      .ranks = ranks, .items = items, .rounds = std::clamp<std::size_t>(enough / total, 3, 2000)};
}

template <std::size_t size>
Status measure(const ForwardScope& scope, Rank ranks, std::size_t items, Table& table) {
  const Course course = course_of(scope, ranks, items);
  const std::uint64_t bytes = items * size * static_cast<std::uint64_t>(ranks);
  const std::string what =
      fmt::format("{} rank{} x {} x {} B", ranks, ranks == 1 ? "" : "s", count_text(items), size);
  Contenders all;
  all.add("memcpy, " + what, bytes, [course] { return time_copies(course, size); });
  all.add(
      "by hand, " + what, bytes, [course] { return time_by_hand<size>(course); },
      Contenders::Beside{"memcpy, " + what, By::pace, std::nullopt});
  std::optional<Goal> goal;
  if (items >= kBeyondCaches) goal = Goal{Goal::Kind::ratio_at_least, 0.6};
  all.add(
      "exchange, " + what, bytes, [course] { return time_hops<size>(course); },
      Contenders::Beside{"memcpy, " + what, By::pace, goal});
  return all.run(scope.quick ? 1 : 5, table);
}

const char* const kNote =
    "A round: every rank reads its items, changes them and emits each to a random rank, and all "
    "move. "
    "memcpy: as many threads copy as many bytes. By hand: the same kernel appends to an array for "
    "each pair of ranks, with a barrier after each round. The ratio is that of speeds.";

}  // namespace

Result<Table> run_forward_threads(const ForwardScope& scope) {
  Table table{.suite = "threads",
              .title = "Rounds of an exchange whose ranks are threads, beside copying its items",
              .more_columns = {"MB/s"},
              .notes = {kNote}};
  std::vector<std::size_t> counts{1'000, 10'000, 100'000};
  if (!scope.quick) counts.push_back(1'000'000);
  if (scope.full) counts.push_back(10'000'000);
  for (const Rank ranks : {1, 2, 4}) {
    for (const std::size_t items : counts) {
      GODWIT_CHECK(measure<64>(scope, ranks, items, table));
    }
  }
  return table;
}

Result<Table> run_forward_sizes(const ForwardScope& scope) {
  Table table{.suite = "sizes",
              .title = "Items of other sizes, two ranks",
              .more_columns = {"MB/s"},
              .notes = {kNote}};
  const std::size_t items = scope.quick ? 10'000 : 1'000'000;
  GODWIT_CHECK(measure<20>(scope, 2, items, table));
  GODWIT_CHECK(measure<32>(scope, 2, items, table));
  GODWIT_CHECK(measure<48>(scope, 2, items, table));
  GODWIT_CHECK(measure<64>(scope, 2, items, table));
  GODWIT_CHECK(measure<128>(scope, 2, items, table));
  return table;
}

}  // namespace godwit::bench
