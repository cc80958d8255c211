#include <cassert>
#include <utility>

#include "base/sanitizers.hpp"
#include "ref/arena/arena_state.hpp"

namespace godwit::ref {
namespace {

// The last one used, unless it was made to a size of its own and is too small: memory that is still
// in a cache is worth more than a closer fit.
ArenaSegment* fitting(IntrusiveList<ArenaSegment, FitTag>& segments, std::size_t bytes) {
  const auto fits = [bytes](const ArenaSegment& segment) {
    return segment.size() >= bytes && segment.size() - bytes <= bytes / 8;
  };
  if (segments.empty()) return nullptr;
  if (fits(segments.back())) return &segments.back();
  ArenaSegment* found = nullptr;
  segments.for_each([&](ArenaSegment& segment) {
    if (fits(segment)) found = &segment;
  });
  return found;
}

}  // namespace

// --- Slabs ---

std::optional<Extent> Arena::State::take_slot(std::size_t size_class) {
  auto& chunks = roomy[size_class];
  if (chunks.empty() && !find_chunk(size_class)) return std::nullopt;
  Chunk& chunk = chunks.front();
  const std::size_t offset = chunk.offset + chunk.slots.take() * chunk.slot_bytes;
  if (chunk.slots.none_free()) chunks.remove(chunk);
  return use_of(chunk.segment, offset, chunk.slot_bytes);
}

bool Arena::State::find_chunk(std::size_t size_class) {
  if (assign_chunk(size_class)) return true;
  release_idle_chunks();
  return assign_chunk(size_class);
}

// Slabs that are in use come first, so that the others stay empty.
bool Arena::State::assign_chunk(std::size_t size_class) {
  if (partly.empty()) {
    if (kept_slabs.empty()) return false;
    ArenaSegment& slab = kept_slabs.back();
    unkeep(slab);
    partly.push_back(slab);
  }
  ArenaSegment& slab = partly.front();
  Chunk& chunk = *slab.free_chunks.back();
  slab.free_chunks.pop_back();
  if (slab.free_chunks.empty()) partly.remove(slab);
  chunk.size_class = size_class;
  chunk.slot_bytes = static_cast<std::uint32_t>(kShared.bytes_of(size_class));
  chunk.slots.reset(chunk_bytes / chunk.slot_bytes);
  roomy[size_class].push_back(chunk);
  return true;
}

void Arena::State::release_chunk(Chunk& chunk) {
  roomy[chunk.size_class].remove(chunk);
  chunk.slot_bytes = 0;
  ArenaSegment& slab = chunk.segment;
  if (slab.free_chunks.empty()) partly.push_back(slab);
  slab.free_chunks.push_back(&chunk);
  if (slab.free_chunks.size() < slab.chunks.size()) return;
  partly.remove(slab);
  keep(slab);
}

// An empty chunk that a class keeps was alone when it became so: it is the first.
void Arena::State::release_idle_chunks() {
  for (auto& chunks : roomy) {
    if (!chunks.empty() && chunks.front().slots.all_free()) release_chunk(chunks.front());
  }
}

// The last chunk of a class stays with it, so that one object that comes and goes costs little.
void Arena::State::put_slot(ArenaSegment& segment, const Extent& extent) {
  Chunk& chunk = segment.chunks[extent.offset / chunk_bytes];
  const bool was_full = chunk.slots.none_free();
  const std::size_t at = extent.offset - chunk.offset;
  const bool given = chunk.slot_bytes != 0 && chunk.slots.give(at / chunk.slot_bytes);
  assert(given && "an extent was freed twice");
  if (!given) return;
  use.used_bytes -= chunk.slot_bytes;
  --use.extents;
  GODWIT_POISON(extent.data, chunk.slot_bytes);
  auto& chunks = roomy[chunk.size_class];
  if (was_full) chunks.push_back(chunk);
  const bool stays = chunks.size() == 1 && kept_bytes + segment.size() <= options.keep_bytes;
  if (chunk.slots.all_free() && !stays) release_chunk(chunk);
}

// --- Segments of one object, and those that nobody uses ---

std::optional<Extent> Arena::State::take_own(std::size_t bytes) {
  const std::size_t first = kOwn.index_of(bytes);
  const std::size_t last = std::min(first + 1, kOwnClasses - 1);
  ArenaSegment* found = nullptr;
  for (std::size_t index = first; index <= last && found == nullptr; ++index) {
    found = fitting(kept_own[index], bytes);
  }
  if (found == nullptr) return std::nullopt;
  unkeep(*found);
  return use_of(*found, 0, found->size());
}

IntrusiveList<ArenaSegment, FitTag>& Arena::State::alike(const ArenaSegment& segment) {
  return segment.is_slab() ? kept_slabs : kept_own[kOwn.index_of(segment.size())];
}

void Arena::State::keep(ArenaSegment& segment) {
  kept.push_back(segment);
  alike(segment).push_back(segment);
  kept_bytes += segment.size();
}

void Arena::State::unkeep(ArenaSegment& segment) {
  kept.remove(segment);
  alike(segment).remove(segment);
  kept_bytes -= segment.size();
}

Extent Arena::State::use_of(ArenaSegment& segment, std::size_t offset, std::size_t capacity) {
  use.used_bytes += capacity;
  ++use.extents;
  std::byte* data = segment.memory.data() + offset;
  GODWIT_UNPOISON(data, capacity);
  return {segment.id, offset, capacity, data};
}

// Its bytes are held until give_back().
std::unique_ptr<ArenaSegment> Arena::State::take_out_oldest() {
  ArenaSegment& oldest = kept.front();
  unkeep(oldest);
  if (oldest.is_slab()) slab_bytes -= oldest.size();
  return std::move(segments.extract(oldest.id).mapped());
}

Arena::State::Segments Arena::State::take_out_kept(std::size_t keep_bytes) {
  Segments taken;
  while (kept_bytes > keep_bytes) taken.push_back(take_out_oldest());
  return taken;
}

}  // namespace godwit::ref
