#include "forward/process/shared_arena.hpp"

#include <functional>
#include <utility>

#include "base/fail.hpp"

namespace godwit::forward {
namespace {

// So that sizes off the wire cannot overflow.
constexpr std::size_t kMaxArenaBytes = std::size_t{1} << 44;

std::size_t up_to_page(std::size_t bytes) {
  return (bytes + fabric::kPageSize - 1) / fabric::kPageSize * fabric::kPageSize;
}

}  // namespace

Result<std::shared_ptr<SharedArena>> SharedArena::create(std::size_t bytes) {
  if (bytes > kMaxArenaBytes) {
    return fail(ErrorCode::invalid_argument, "ExchangeOptions::queue_bytes is {}; at most {}",
                bytes, kMaxArenaBytes);
  }
  const std::size_t size = up_to_page(bytes);
  GODWIT_TRY(fabric::Fd memory, fabric::create_memory("godwit-chunks", size));
  GODWIT_TRY(fabric::Mapping mapping, fabric::map_memory(memory.get(), size, fabric::Access::write,
                                                         fabric::Pages::on_demand));
  return std::shared_ptr<SharedArena>(new SharedArena(std::move(memory), std::move(mapping)));
}

std::byte* SharedArena::allocate(std::size_t bytes) noexcept {
  if (bytes > size() - used_) return nullptr;
  return mapping_.data() + std::exchange(used_, used_ + bytes);
}

std::size_t SharedArena::offset_of(const std::byte* data) const noexcept {
  const std::less<const std::byte*> before;
  if (before(data, mapping_.data()) || !before(data, mapping_.data() + size())) return size();
  return static_cast<std::size_t>(data - mapping_.data());
}

Result<fabric::Mapping> map_arena(const fabric::Fd& memory, std::size_t bytes) {
  if (bytes == 0 || bytes > kMaxArenaBytes || bytes % fabric::kPageSize != 0) {
    return fail(ErrorCode::protocol_violation, "a rank offered {} bytes of shared memory", bytes);
  }
  GODWIT_CHECK(fabric::check_memory(memory.get(), bytes));
  return fabric::map_memory(memory.get(), bytes, fabric::Access::read, fabric::Pages::on_demand);
}

}  // namespace godwit::forward
