// Mobile code: sources on rank 0 become items for rank 1, which sums them up.
#include <godwit/mobile.hpp>
#include <godwit/mobile/rank.hpp>

#include "ranks/drop.hpp"

namespace godwit::bench {

std::uint64_t pour(Here& here, RankOf<Drop> rank) {
  std::uint64_t sum = 0;
  rank.run(here, [&](const Drop& drop, auto& out) {
    for (std::uint64_t i = 0; i < drop.more; ++i) out.emit(Drop{.rest = {1}}, 1);
    sum += drop.rest[0];
  });
  return sum;
}
GODWIT_EXPORT(pour);

}  // namespace godwit::bench
