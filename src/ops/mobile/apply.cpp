// Makes this node's part of a region what a descriptor says.
#include "shard.hpp"

namespace godwit::ops {

void apply(Here& here, std::span<const std::byte> descriptor) {
  const godwit_here_v1* table = here.table();
  const std::int32_t error = table->apply_region(table, descriptor.data(), descriptor.size());
  if (error != 0) refuse(static_cast<std::uint32_t>(error), "%s", table->last_error(table));
}
GODWIT_EXPORT(apply);

}  // namespace godwit::ops
