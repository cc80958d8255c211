#include "ranks/nodes.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "calls.hpp"
#include "godwit/fleet_exchange.hpp"
#include "ranks/bandwidth.hpp"
#include "ranks/drop.hpp"

namespace godwit::bench {
namespace {

using PourFunction = Function<std::uint64_t(RankOf<Drop>)>;

// How long until all have arrived.
Result<std::uint64_t> pour_once(const Fleet& fleet, const PourFunction& pour, Way way,
                                std::uint64_t items, std::size_t chunk_bytes) {
  const std::uint64_t per_source = 16 * chunk_bytes / sizeof(Drop);
  GODWIT_TRY(auto ranks, open_ranks(fleet.nodes(), pour,
                                    {.exchange = {.chunk_bytes = chunk_bytes}, .way = way}));
  for (std::uint64_t left = items; left > 0; left -= std::min(left, per_source)) {
    ranks.emit(Drop{.more = std::min(left, per_source), .rest = {}}, 0);
  }
  const std::uint64_t begin_ns = floors::now_ns();
  GODWIT_TRY(const auto report, ranks.run([](const Drop&) {}));
  const std::uint64_t took_ns = floors::now_ns() - begin_ns;
  if (report.results.back() == items) return took_ns;
  return fail(ErrorCode::bad_format, "{} of {} items arrived", report.results.back(), items);
}

}  // namespace

Result<floors::Sample> measure_nodes(Way way, std::uint64_t items, std::size_t message_bytes) {
  GODWIT_TRY(const Fleet fleet, Fleet::local(2));
  GODWIT_TRY(const Bundle code, open_bundle("bench_ranks.gdw"));
  GODWIT_TRY(const auto pour, code.function<std::uint64_t(RankOf<Drop>)>("pour"));
  GODWIT_CHECK(pour_once(fleet, pour, way, items, message_bytes));  // warms up
  GODWIT_TRY(const std::uint64_t took_ns, pour_once(fleet, pour, way, items, message_bytes));
  return by_message(items * sizeof(Drop), message_bytes, took_ns);
}

}  // namespace godwit::bench
