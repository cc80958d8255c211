#include "ref/arena/arena.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "base/fail.hpp"
#include "base/sanitizers.hpp"
#include "ref/arena/arena_state.hpp"

namespace godwit::ref {
namespace {

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

template <class Segments>
std::size_t size_of(const Segments& segments) {
  std::size_t bytes = 0;
  for (const auto& segment : segments) bytes += segment->size();
  return bytes;
}

}  // namespace

// A small budget is not used up by the first few classes.
Arena::State::State(Options wanted)
    : options(wanted),
      chunk_bytes(std::bit_floor(
          std::max(std::min({kLargestChunk, wanted.slab_bytes, wanted.budget_bytes / 8}),
                   fabric::kPageSize))),
      largest_shared(std::min(kLargestShared, chunk_bytes / kSlotsInChunk)) {}

// --- More memory ---

Status Arena::State::check_budget(std::size_t bytes, std::size_t wanted) const {
  const std::size_t needed = use.held_bytes - kept_bytes - leaving_bytes;
  if (bytes <= options.budget_bytes && needed <= options.budget_bytes - bytes) return {};
  return fail(
      ErrorCode::resource_exhausted,
      "no room for an object of {} bytes: others use {} in {} bytes of memory, of a budget of "
      "{}; evict some, or raise the budget",
      wanted, use.used_bytes, needed, options.budget_bytes);
}

void Arena::State::has_left(std::size_t bytes) {
  use.held_bytes -= bytes;
  leaving_bytes -= bytes;
  left.notify_all();
}

void Arena::State::give_back(Segments taken) {
  if (taken.empty()) return;
  const std::size_t bytes = size_of(taken);
  taken.clear();
  const std::lock_guard lock(mutex);
  has_left(bytes);
}

// Returns how much of the budget is the caller's now: the best size, or the least if that is all
// there is. What must go for that is gone by then, and counts as held until it is.
Result<std::size_t> Arena::State::make_room(Sizes sizes, std::size_t wanted) {
  std::unique_lock lock(mutex);
  std::size_t room = 0;
  for (;;) {
    release_idle_chunks();
    GODWIT_CHECK(check_budget(sizes.least, wanted));
    const std::size_t needed = use.held_bytes - kept_bytes;
    room = options.budget_bytes - std::min(needed, options.budget_bytes);
    if (sizes.least <= room) break;
    left.wait(lock);  // for others that give memory back at this moment
  }
  const std::size_t size = sizes.best <= room ? sizes.best : sizes.least;
  Segments taken = take_out_kept(options.keep_bytes);
  std::size_t taken_bytes = size_of(taken);
  while (use.held_bytes - taken_bytes + size > options.budget_bytes) {
    taken.push_back(take_out_oldest());
    taken_bytes += taken.back()->size();
  }
  const std::size_t most = std::max(size, taken_bytes);
  use.held_bytes += most - taken_bytes;
  leaving_bytes += most - size;
  lock.unlock();
  taken.clear();
  lock.lock();
  has_left(most - size);
  return size;
}

// The segment is nobody's yet, and not found by others.
Result<ArenaSegment*> Arena::State::make(Sizes sizes, std::size_t its_chunk_bytes,
                                         std::size_t wanted) {
  GODWIT_TRY(const std::size_t size, make_room(sizes, wanted));
  auto memory = TouchedMemory::create(size);
  std::unique_ptr<ArenaSegment> segment;
  if (memory) segment = std::make_unique<ArenaSegment>(0, *std::move(memory), its_chunk_bytes);
  const std::lock_guard lock(mutex);
  if (!segment) {
    use.held_bytes -= size;
    return tl::unexpected(std::move(memory).error());
  }
  segment->id = ++last_id;
  if (segment->is_slab()) slab_bytes += size;
  return segments.emplace(last_id, std::move(segment)).first->second.get();
}

Result<Extent> Arena::State::allocate_shared(std::size_t bytes, Wait wait) {
  const std::size_t size_class = kShared.index_of(bytes);
  {
    const std::lock_guard lock(mutex);
    if (auto extent = take_slot(size_class)) return *extent;
    GODWIT_CHECK(check_budget(chunk_bytes, bytes));
    if (wait == Wait::no)
      return fail(ErrorCode::would_block, "an object of {} bytes needs a new segment", bytes);
  }
  const std::lock_guard making(making_slab);
  Sizes sizes{.least = chunk_bytes, .best = 0};
  {
    const std::lock_guard lock(mutex);
    if (auto extent = take_slot(size_class)) return *extent;
    // As much again as there is, so that few objects cost little memory and many few segments.
    sizes.best =
        round_up(std::max(std::min(slab_bytes, options.slab_bytes), chunk_bytes), chunk_bytes);
  }
  GODWIT_TRY(auto* slab, make(sizes, chunk_bytes, bytes));
  const std::lock_guard lock(mutex);
  keep(*slab);  // others may have freed a slot meanwhile, and it is not needed
  return *take_slot(size_class);
}

Result<Extent> Arena::State::allocate_own(std::size_t bytes, Wait wait) {
  const Sizes sizes{.least = round_up(bytes, fabric::kPageSize),
                    .best = kOwn.bytes_of(kOwn.index_of(bytes))};
  {
    const std::lock_guard lock(mutex);
    if (auto extent = take_own(bytes)) return *extent;
    release_idle_chunks();
    GODWIT_CHECK(check_budget(sizes.least, bytes));
    if (wait == Wait::no)
      return fail(ErrorCode::would_block, "an object of {} bytes needs a new segment", bytes);
  }
  GODWIT_TRY(auto* segment, make(sizes, 0, bytes));
  const std::lock_guard lock(mutex);
  return use_of(*segment, 0, segment->size());
}

// --- Arena ---

Arena::Arena(Options options) : state_(std::make_unique<State>(options)) {}

Arena::~Arena() = default;

Result<Extent> Arena::allocate(std::size_t bytes, Wait wait) {
  if (bytes > State::kLargestOwn)
    return fail(ErrorCode::resource_exhausted, "an object of {} bytes: the largest has {}", bytes,
                State::kLargestOwn);
  bytes = std::max<std::size_t>(bytes, 1);
  return bytes <= state_->largest_shared ? state_->allocate_shared(bytes, wait)
                                         : state_->allocate_own(bytes, wait);
}

void Arena::free(const Extent& extent, Wait wait) noexcept {
  State& state = *state_;
  State::Segments taken;
  {
    const std::lock_guard lock(state.mutex);
    const auto found = state.segments.find(extent.segment);
    assert(found != state.segments.end() && "an extent of another arena, or freed twice");
    if (found == state.segments.end()) return;
    ArenaSegment& segment = *found->second;
    if (segment.is_slab()) {
      state.put_slot(segment, extent);
    } else if (!segment.kept()) {
      state.use.used_bytes -= segment.size();
      --state.use.extents;
      GODWIT_POISON(extent.data, segment.size());
      state.keep(segment);
    }
    if (wait == Wait::yes) taken = state.take_out_kept(state.options.keep_bytes);
    state.leaving_bytes += size_of(taken);
  }
  state.give_back(std::move(taken));
}

void Arena::trim(std::size_t keep_bytes) {
  State::Segments taken;
  {
    const std::lock_guard lock(state_->mutex);
    state_->release_idle_chunks();
    taken = state_->take_out_kept(keep_bytes);
    state_->leaving_bytes += size_of(taken);
  }
  state_->give_back(std::move(taken));
}

Result<Arena::Shared> Arena::share(std::uint64_t segment, fabric::Access access) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->segments.find(segment);
  if (found == state_->segments.end())
    return fail(ErrorCode::not_found, "segment {} of the objects' memory is gone", segment);
  const TouchedMemory& memory = found->second->memory;
  GODWIT_TRY(fabric::Fd descriptor, access == fabric::Access::read
                                        ? fabric::duplicate_read_only(memory.descriptor())
                                        : fabric::duplicate(memory.descriptor()));
  return Shared{std::move(descriptor), memory.size()};
}

Arena::Use Arena::use() const {
  const std::lock_guard lock(state_->mutex);
  Use use = state_->use;
  use.segments = state_->segments.size();
  return use;
}

std::size_t Arena::budget_bytes() const noexcept {
  return state_->options.budget_bytes;
}

}  // namespace godwit::ref
