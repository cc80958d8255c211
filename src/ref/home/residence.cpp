// What of a home's objects is in memory, and what is on disk because memory has no room for it.
//
// Disks are waited for with no lock but making_room held: a version whose file is written or read
// is marked (Version::moving) and pinned meanwhile. Who writes one waits for nobody, and who reads
// one waits for memory only, so that nobody waits for somebody who waits for them.
#include <algorithm>
#include <utility>

#include "ref/disk/object_folder.hpp"
#include "ref/home/refusals.hpp"
#include "ref/home/visit.hpp"

namespace godwit::ref {

// --- In a visit ---

void Visit::settle(Object& object) {
  const Version& newest = object.newest;
  if (state_.options.folder == nullptr && newest.channel == 0) return;
  set_idle(object, newest.extent && newest.pins == 0 && !object.pinned_by_user && !object.ended);
}

// Whether it is kept elsewhere changes only while it is not idle.
void Visit::set_idle(Object& object, bool idle) {
  if (idle == static_cast<ListHook<IdleList>&>(object).linked()) return;
  auto& list = object.newest.is_kept_elsewhere() ? shard_.idle_filed : shard_.idle;
  if (idle) {
    object.idle_since = state_.uses.fetch_add(1, std::memory_order_relaxed);
    list.push_back(object);
    shard_.idle_bytes += object.newest.extent.capacity;
  } else {
    list.remove(object);
    shard_.idle_bytes -= object.newest.extent.capacity;
  }
}

Moving Visit::begin_move(Object& object, Version& version) {
  version.moving = true;
  ++version.pins;
  ++object.pins;
  settle(object);
  return {&object, version.number, version.size, version.channel};
}

bool Visit::end_move(const Moving& moving, bool file) {
  Object& object = *moving.object;
  Version& version = *version_of(object, moving.version);
  const bool newest = !object.ended && &version == &object.newest;
  version.moving = false;
  if (version.channel == 0) version.file = file;
  if (!newest) remove_file(object, version);
  unpin(object, version);
  end_filing(nullptr);
  return newest;
}

void Visit::end_filing(Object* object) {
  if (object != nullptr) object->filing = false;
  ++shard_.moves;
  shard_.moved.notify_all();
}

void Visit::drop_memory(Object& object) {
  recall(object);  // somebody may be shown that memory
  set_idle(object, false);
  free(object.newest.extent);
  object.newest.extent = {};
}

void Visit::remove_file(const Object& object, Version& version) {
  if (!version.file || version.moving) return;
  version.file = false;
  removed_.push_back({object.id, version.number});
}

// --- To the disk ---

std::size_t StoreState::idle_bytes() {
  std::size_t bytes = 0;
  for (Shard& shard : shards) {
    const std::lock_guard lock(shard.mutex);
    bytes += shard.idle_bytes;
  }
  return bytes;
}

Result<Extent> StoreState::allocate(std::size_t bytes, Arena::Wait wait) {
  auto extent = arena.allocate(bytes, wait);
  const auto full = [&] { return !extent && extent.error().code == ErrorCode::resource_exhausted; };
  const bool room_can_be_made = options.folder != nullptr || options.channels != nullptr;
  if (!room_can_be_made || !full() || bytes > arena.budget_bytes()) return extent;
  if (wait == Arena::Wait::no) {
    return fail(ErrorCode::would_block,
                "an object of {} bytes has to wait until others are on disk", bytes);
  }
  const std::lock_guard lock(making_room);
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    extent = arena.allocate(bytes, wait);
    if (!full()) return extent;
    const std::size_t idle = idle_bytes();
    const std::size_t used = arena.use().used_bytes;
    const std::size_t busy = used - std::min(used, idle);
    if (idle == 0 || bytes > arena.budget_bytes() - std::min(arena.budget_bytes(), busy)) {
      return fail(ErrorCode::resource_exhausted,
                  "{}; {} bytes are being read, written or pinned, and cannot go to disk",
                  extent.error().message, busy);
    }
    const auto freed = spill(std::max(bytes, arena.budget_bytes() / kSpillShare));
    if (!freed) {
      return fail(ErrorCode::resource_exhausted, "{}; and others cannot go to disk: {}",
                  extent.error().message, freed.error().message);
    }
  }
  return extent;
}

// Once the disk takes no more, those go whose files are there already.
Result<std::size_t> StoreState::spill(std::size_t wanted) {
  std::size_t freed = 0;
  std::optional<Error> refused;
  while (freed < wanted) {
    const auto next = take_longest_idle(refused ? Idle::filed : Idle::any);
    if (!next) break;
    freed += next->freed;
    if (!next->moving) continue;
    const auto more = put_away(*next);
    if (!more) refused = more.error();
    freed += more.value_or(0);
  }
  if (freed == 0 && refused) return tl::unexpected(*std::move(refused));
  return freed;
}

std::optional<StoreState::Spilling> StoreState::take_longest_idle(Idle which) {
  for (;;) {
    Shard* longest = nullptr;
    IntrusiveList<Object, IdleList>* list = nullptr;
    std::uint64_t since = UINT64_MAX;
    for (Shard& shard : shards) {
      const std::lock_guard lock(shard.mutex);
      for (auto* idle : {&shard.idle_filed, &shard.idle}) {
        if (idle == &shard.idle && which == Idle::filed) continue;
        if (idle->empty() || idle->front().idle_since >= since) continue;
        longest = &shard;
        list = idle;
        since = idle->front().idle_since;
      }
    }
    if (longest == nullptr) return std::nullopt;
    Visit visit(*this, *longest);
    if (list->empty()) continue;
    Object& object = list->front();
    Spilling spilling;
    spilling.shard = longest;
    if (object.newest.is_kept_elsewhere()) {
      spilling.freed = object.newest.extent.capacity;
      visit.drop_memory(object);
      spills.fetch_add(1, std::memory_order_relaxed);
      return spilling;
    }
    spilling.record = record_of(object.id, object.type, object.newest);
    spilling.extent = object.newest.extent;
    spilling.moving = visit.begin_move(object, object.newest);
    return spilling;
  }
}

Result<std::size_t> StoreState::put_away(const Spilling& spilling) {
  const auto size = static_cast<std::size_t>(spilling.record.handle.size);
  const Status written = options.folder->write(spilling.record, {spilling.extent.data, size});
  Visit visit(*this, *spilling.shard, Arena::Wait::yes);
  Object& object = *spilling.moving->object;
  const bool there = visit.end_move(*spilling.moving, written.has_value());
  if (!written) return tl::unexpected(written.error());
  // It may have been read, evicted or updated meanwhile.
  if (!there || object.newest.pins != 0 || object.pinned_by_user) return std::size_t{0};
  visit.drop_memory(object);
  spills.fetch_add(1, std::memory_order_relaxed);
  return spilling.extent.capacity;
}

// --- And back ---

Result<Located> StoreState::bring_back(const Handle& handle, Absence absence,
                                       const Locate& locate) {
  Shard& shard = shard_of(handle.object);
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    Extent extent;
    Status loaded;
    if (absence.mine) {
      loaded = load(*absence.mine, extent);
    } else {
      wait_for_move(shard, absence.moves);
    }
    Visit visit(*this, shard, Arena::Wait::yes);
    if (absence.mine) {
      const Moving moving = *absence.mine;
      Visit::version_of(*moving.object, moving.version)->extent = extent;
      if (!loaded) {
        lose(visit, moving, loaded.error());
        return tl::unexpected(loaded.error());
      }
      loads.fetch_add(1, std::memory_order_relaxed);
      visit.end_move(moving, true);
    }
    absence = {};
    auto found = locate(visit, absence);
    if (!absence.any) return found;
  }
  return fail(ErrorCode::overload,
              "object {} went back to disk {} times before it could be read: too much is read at "
              "the same time for the budget of memory",
              handle.object.short_hex(), kMaxRounds);
}

// On an error there is no extent.
Status StoreState::load(const Moving& moving, Extent& extent) {
  GODWIT_TRY(extent, allocate(static_cast<std::size_t>(moving.size), Arena::Wait::yes));
  Handle handle;
  handle.object = moving.object->id;  // never changes
  handle.version = moving.version;
  handle.size = moving.size;
  const MutableBytes into{extent.data, static_cast<std::size_t>(moving.size)};
  Status read = moving.channel != 0
                    ? options.channels->fetch({moving.channel, handle.object, handle.version}, into)
                    : options.folder->read(handle, into);
  if (read) return {};
  arena.free(extent, Arena::Wait::yes);
  extent = {};
  if (moving.channel != 0 || read.error().code != ErrorCode::bad_format) return read;
  const auto aside = options.folder->set_aside(ObjectFileName::of(handle));
  warn(fmt::format("object {} version {} is lost: {}; {}", handle.object.short_hex(),
                   handle.version, read.error().message,
                   aside ? "the file is now " + *aside : aside.error().message));
  return read;
}

// Where the file is no good, whoever asks is told so for a while; else the next one tries again.
void StoreState::lose(Visit& visit, const Moving& moving, const Error& why) {
  const bool gone = why.code == ErrorCode::bad_format || why.code == ErrorCode::not_found;
  if (!visit.end_move(moving, !gone) || !gone) return;
  moving.object->persistent = false;
  visit.break_promise(*moving.object, why, clock.now());
}

void StoreState::wait_for_move(Shard& shard, std::uint64_t moves) {
  std::unique_lock lock(shard.mutex);
  shard.moved.wait(lock, [&] { return shard.moves != moves; });
}

// --- Files ---

void StoreState::remove_files(std::span<const ObjectFileName> names, Arena::Wait wait) {
  if (wait == Arena::Wait::no) {
    if (removals.add(names) && options.on_files_to_remove) options.on_files_to_remove();
    return;
  }
  const auto remove = [this](const ObjectFileName& name) {
    const Status removed = options.folder->remove(name);
    if (!removed) warn(removed.error().message);
  };
  std::for_each(names.begin(), names.end(), remove);
  const auto more = removals.take();
  std::for_each(more.begin(), more.end(), remove);
}

void StoreState::warn(const std::string& text) const {
  if (options.on_warning) options.on_warning(text);
}

}  // namespace godwit::ref
