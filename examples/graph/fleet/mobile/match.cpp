// A query that travels. Rows of bindings go to where the next step's edges lie; there each one
// takes all the steps it can, and what needs other vertices goes on to their owners.
#include "fleet/mobile/stay.hpp"

namespace godwit::graph {
namespace {

// From so many rows on, several nodes at work at the same time are worth the waiting for them.
constexpr std::size_t kWorthSplitting = 2048;
// About 0.2 ms: a light stay is on the polling thread, where others wait.
constexpr std::uint64_t kLightEdges = 16'384;

}  // namespace

Next<Rows> match_many(Here& here, Journey journey, std::span<const TravelStep> steps,
                      std::span<const Condition> conditions, std::span<const std::uint32_t> wanted,
                      std::span<const TermId> finished, std::span<const TermId> rows);

// Few rows, which visit their owners in turn: the call itself moves on with all that is left, and
// whoever is last answers. Once there are many, it goes on as match_many.
Next<Rows> match(Here& here, Journey journey, std::span<const TravelStep> steps,
                 std::span<const Condition> conditions, std::span<const std::uint32_t> wanted,
                 std::span<const TermId> finished, std::span<const TermId> rows) {
  Stay stay(here, journey, {steps, conditions, wanted}, kLightEdges);
  stay.done.assign(finished.begin(), finished.end());
  stay.take(rows);
  if (stay.is_over()) return std::move(stay.done);
  const Node next = stay.home(stay.next_shard());
  if (stay.is_cut_short() || stay.rows_left() >= kWorthSplitting) {
    return here.continue_at<match_many>(next, journey, steps, conditions, wanted, stay.done,
                                        stay.waiting());
  }
  return here.continue_at<match>(next, journey, steps, conditions, wanted, stay.done,
                                 stay.waiting());
}
GODWIT_EXPORT(match, inline_);

// Any number of rows, and steps that look at all vertices: on a worker. Many rows become several
// calls, whose answers this one waits for.
Next<Rows> match_many(Here& here, Journey journey, std::span<const TravelStep> steps,
                      std::span<const Condition> conditions, std::span<const std::uint32_t> wanted,
                      std::span<const TermId> finished, std::span<const TermId> rows) {
  Stay stay(here, journey, {steps, conditions, wanted}, std::numeric_limits<std::uint64_t>::max());
  stay.done.assign(finished.begin(), finished.end());
  stay.take(rows);
  if (stay.is_over()) return std::move(stay.done);
  const bool many = stay.rows_left() >= kWorthSplitting;
  const bool scans =
      std::ranges::any_of(steps, [](const TravelStep& step) { return step.access == kByScan; });
  if (!stay.scans() && (!many || journey.splits_left == 0)) {
    const Node next = stay.home(stay.next_shard());
    if (many || scans) {
      return here.continue_at<match_many>(next, journey, steps, conditions, wanted, stay.done,
                                          stay.waiting());
    }
    return here.continue_at<match>(next, journey, steps, conditions, wanted, stay.done,
                                   stay.waiting());
  }
  if (journey.splits_left > 0) --journey.splits_left;
  std::vector<Pending<Rows>> parts;
  for (std::uint32_t shard = 0; shard < stay.shards(); ++shard) {
    const std::size_t count = stay.rows_waiting_for(shard);
    if (count == 0) continue;
    const Node home = stay.home(shard);
    const Rows part = stay.waiting_for(shard);
    parts.push_back(
        scans || count >= kWorthSplitting
            ? here.call<match_many>(home, journey, steps, conditions, wanted, Rows{}, part)
            : here.call<match>(home, journey, steps, conditions, wanted, Rows{}, part));
  }
  for (Pending<Rows>& part : parts) {
    const Rows found = part.get();
    stay.done.insert(stay.done.end(), found.begin(), found.end());
  }
  return std::move(stay.done);
}
GODWIT_EXPORT(match_many);

}  // namespace godwit::graph
