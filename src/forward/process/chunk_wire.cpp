#include "forward/process/chunk_wire.hpp"

#include <cstring>

#include "base/fail.hpp"
#include "forward/chunk_check.hpp"
#include "forward/chunk_label.hpp"
#include "forward/control.hpp"

namespace godwit::forward {
namespace {

tl::unexpected<Error> broken(std::string_view what) {
  return fail(ErrorCode::protocol_violation,
              "a chunk of items came with {}; the sending process is broken or hostile", what);
}

Status check_control(Bytes items) {
  Control control;
  if (items.size() < sizeof control) return broken("control that is too short");
  std::memcpy(static_cast<void*>(&control), items.data(), sizeof control);
  const auto kind = static_cast<std::uint32_t>(control.kind);
  if (kind < static_cast<std::uint32_t>(ControlKind::introduction) ||
      kind > static_cast<std::uint32_t>(ControlKind::note)) {
    return broken("control of an unknown kind");
  }
  if (control.termination.kind > TerminationMessage::Kind::done) {
    return broken("a termination message of an unknown kind");
  }
  return {};
}

}  // namespace

ChunkWire describe(const detail::Chunk& chunk, std::uint64_t exchange) noexcept {
  ChunkWire wire;
  wire.exchange = exchange;
  copy_label(chunk, wire);
  return wire;
}

Result<ChunkWire> peek_chunk(Bytes body) {
  ChunkWire wire;
  if (body.size() < sizeof wire) return broken("less than its header");
  std::memcpy(&wire, body.data(), sizeof wire);
  return wire;
}

Result<ChunkWire> read_chunk(Bytes body, std::size_t shared_bytes) {
  GODWIT_TRY(const ChunkWire wire, peek_chunk(body));
  const std::size_t following = body.size() - sizeof wire;
  if (wire.items_at == ChunkWire::kFollows) {
    if (wire.used != following) return broken("another number of bytes than it says");
  } else if (following != 0 || wire.kind == kControlKind || wire.items_at > shared_bytes ||
             wire.used > shared_bytes - wire.items_at ||
             wire.items_at % detail::kMaxItemAlign != 0) {
    return broken("items that lie nowhere");
  }
  if (wire.priority >= kPriorities) return broken("an unknown priority");
  return wire;
}

Status check_items(const ChunkWire& wire, Bytes items, std::span<const detail::ItemType> types) {
  if (wire.kind == kControlKind) return check_control(items);
  if (wire.kind >= types.size()) return broken("items of a kind that this exchange has not");
  if (wire.count == 0) return broken("no items");
  detail::Chunk chunk;
  chunk.data = const_cast<std::byte*>(items.data());  // only read
  chunk.used = wire.used;
  chunk.count = wire.count;
  if (items.size() != wire.used || !holds_its_items(chunk, types[wire.kind])) {
    return broken(fmt::format("{} bytes that are not the {} items of kind {} it is said to hold",
                              items.size(), wire.count, wire.kind));
  }
  return {};
}

}  // namespace godwit::forward
