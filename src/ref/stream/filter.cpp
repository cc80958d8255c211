#include "ref/stream/filter.hpp"

#include "base/fail.hpp"

namespace godwit::ref::stream {

bool Filter::accepts(std::uint64_t offset, const Item& item) const noexcept {
  if (one_in > 1 && offset % one_in != 0) return false;
  const std::string_view metadata = text_of(item.metadata);
  return metadata.starts_with(prefix) && (!equals || metadata == *equals);
}

Status Filter::check() const {
  if (one_in == 0) {
    return fail(ErrorCode::invalid_argument,
                "a filter that takes one item in 0 takes none: use 1 for all");
  }
  if (prefix.size() > kMaxBytes || (equals && equals->size() > kMaxBytes)) {
    return fail(ErrorCode::too_large,
                "a filter looks for more than {} bytes, which no metadata has", kMaxBytes);
  }
  return {};
}

}  // namespace godwit::ref::stream
