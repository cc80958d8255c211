// What a storage node does with its records where they lie. Native code: it needs no JIT there.
#include <godwit/mobile.hpp>
#include <godwit/mobile/fold.hpp>
#include <godwit/mobile/vector.hpp>

#include "record.hpp"

namespace storage {

// Count, sum, least and greatest of the records whose key is not above `bound`.
Summary summarise(godwit::Here& here, godwit::ops::TreePart part, std::uint32_t bound) {
  return godwit::ops::fold<summarise, Record>(
      here, part,
      [&](const auto& region) {
        Summary found;
        for (const Record& record : region.local()) {
          if (record.key <= bound) found.add(record);
        }
        return found;
      },
      [](Summary& total, const Summary& below) { total.add(below); }, bound);
}
GODWIT_EXPORT(summarise);

// Those records themselves, of `count` of this node's from `first` on.
std::vector<Record> select(godwit::Here& here, std::uint64_t region, std::uint64_t first,
                           std::uint64_t count, std::uint32_t bound) {
  const auto local = here.region<Record>(region).local();
  std::vector<Record> found;
  for (std::uint64_t i = first; i < first + count && i < local.size(); ++i) {
    if (local[i].key <= bound) found.push_back(local[i]);
  }
  return found;
}
GODWIT_EXPORT(select);

}  // namespace storage
