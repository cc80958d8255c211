// The same elements to the same place of every shard, along a tree.
#include <godwit/mobile/vector.hpp>
#include <godwit/ops/parts.hpp>

#include <array>

#include "shard.hpp"

namespace godwit::ops {
namespace {

using Missing = std::vector<std::uint32_t>;

// All of a part, whose call ended without saying what it came to.
void add_part(Missing& missing, const TreePart& part, std::uint32_t shards) {
  missing.push_back(part.shard);
  for (std::uint32_t i = 0; i < part.fan_out && part.first_child() + i < shards; ++i) {
    const auto child = static_cast<std::uint32_t>(part.first_child() + i);
    add_part(missing, {part.region, child, part.fan_out}, shards);
  }
}

}  // namespace

// First why the first one that failed did, an ErrorCode, 0 for none; then the shards that are not
// known to have been written. A node passes on what it got before it writes its own.
Missing multicast(Here& here, TreePart part, std::uint64_t offset,
                  std::span<const std::byte> elements) {
  const LocalShard shard(here, {part.region, part.shard}, GODWIT_REGION_WRITE);
  const std::uint32_t size = shard.element_size();
  if (elements.size() % size != 0) {
    refuse(kTypeMismatch, "%zu bytes are no whole number of elements of %u", elements.size(), size);
  }
  std::byte* const to = shard.range(offset, elements.size() / size);
  if (part.fan_out == 0 || part.fan_out > kMaxTreeFanOut) {
    refuse(kInvalidArgument, "a tree has a fan-out of 1 to %u, not %u", kMaxTreeFanOut,
           part.fan_out);
  }
  std::array<Pending<Missing>, kMaxTreeFanOut> below;
  std::uint32_t children = 0;
  const auto child = [&](std::uint32_t i) {
    return TreePart{part.region, static_cast<std::uint32_t>(part.first_child() + i), part.fan_out};
  };
  while (children < part.fan_out && part.first_child() + children < shard.shards()) {
    const TreePart next = child(children);
    below[children++] = here.call<multicast>(shard.home(next.shard), next, offset, elements);
  }
  if (elements.size() == size) {
    copy_element(to, elements.data(), size);
  } else if (!elements.empty()) {
    std::memcpy(to, elements.data(), elements.size());
  }
  Missing missing{0};
  for (std::uint32_t i = 0; i < children; ++i) {
    const auto outcome = below[i].outcome();
    const std::uint32_t reason =
        outcome && !outcome.value.empty() ? outcome.value[0] : outcome.reason;
    if (missing[0] == 0) missing[0] = reason;
    if (!outcome || outcome.value.empty()) {
      add_part(missing, child(i), shard.shards());
    } else {
      missing.insert(missing.end(), outcome.value.begin() + 1, outcome.value.end());
    }
  }
  return missing;
}
GODWIT_EXPORT(multicast);

}  // namespace godwit::ops
