// What another process of a group can send: chunks of items, and what it says of itself.
//
// Input: one byte chooses; odd: a line at the meeting place; even: a chunk message, whose items may
// also lie in memory that the sender shares.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "forward/control.hpp"
#include "forward/process/chunk_wire.hpp"
#include "forward/process/member_card.hpp"
#include "godwit/detail/forward/incoming.hpp"

namespace {

using namespace godwit;
using namespace godwit::forward;

struct Plain {
  std::uint32_t words[5];
};
struct Head {
  std::uint8_t byte;
};
using Paths = Tailed<Head, double>;
constexpr std::array kTypes{detail::item_type<Plain>(), detail::item_type<Reduced<Head>>(),
                            detail::item_type<Paths>()};
constexpr std::size_t kSharedBytes = 1024;

// Reads every byte that a kernel would, for the sanitizer to see.
std::size_t read_all(const detail::Chunk& chunk) {
  std::size_t sum = 0;
  if (chunk.kind == kControlKind) {
    for (const char letter : forward::text_of(chunk)) sum += static_cast<std::size_t>(letter);
    return sum + static_cast<std::size_t>(control_of(chunk).chunks);
  }
  detail::each_item<Plain>(chunk.kind == 0 ? chunk : detail::Chunk{},
                           [&](const Plain& item) { sum += item.words[4]; });
  detail::each_item<Reduced<Head>>(chunk.kind == 1 ? chunk : detail::Chunk{},
                                   [&](const Head& item) { sum += item.byte; });
  detail::each_item<Paths>(chunk.kind == 2 ? chunk : detail::Chunk{}, [&](const auto& item) {
    for (const double element : item.tail) sum += element > 0 ? 1 : 0;
  });
  return sum;
}

void take_chunk(Bytes body) {
  const auto wire = read_chunk(body, kSharedBytes);
  if (!wire) return;
  // As a carrier does: items of unequal length, and control, where their sender cannot change them.
  const std::vector<std::byte> shared(kSharedBytes, std::byte{1});
  const Bytes items = wire->items_at == ChunkWire::kFollows
                          ? body.subspan(sizeof(ChunkWire))
                          : Bytes(shared).subspan(wire->items_at, wire->used);
  Buffer own = Buffer::copy_of(items);
  if (!check_items(*wire, own.view(), kTypes)) return;
  detail::Chunk chunk;
  chunk.data = own.data();
  chunk.used = wire->used;
  chunk.count = wire->count;
  chunk.kind = wire->kind;
  volatile std::size_t sum = read_all(chunk);
  (void)sum;
}

void take_line(std::string_view line) {
  const auto card = parse_card(line);
  if (!card) return;
  const auto again = parse_card(to_line(*card));
  if (!again || to_line(*again) != to_line(*card)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes input{reinterpret_cast<const std::byte*>(data) + 1, size - 1};
  if (data[0] % 2 != 0) {
    take_line(godwit::text_of(input));
  } else {
    take_chunk(input);
  }
  return 0;
}
