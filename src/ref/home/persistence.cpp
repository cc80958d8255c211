// Objects that outlive their home's process: in files before they are seen, and back at its next
// start.
#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "ref/disk/object_folder.hpp"
#include "ref/home/refusals.hpp"
#include "ref/home/visit.hpp"

namespace godwit::ref {
namespace {

Duration until(Time end, Time now) {
  if (end == kNever) return Duration::max();
  return std::max(end - now, Duration(1));
}

// What is left of a lease that ran while nobody looked; a clock that was set back makes none
// longer.
Duration lease_left(const ObjectRecord& record, std::int64_t now_ns) {
  const std::int64_t passed_ns = std::max<std::int64_t>(0, now_ns - record.written_ns);
  return record.lifetime.lease - Duration(passed_ns);
}

}  // namespace

std::int64_t StoreState::wall_ns() const {
  if (options.wall_ns) return options.wall_ns();
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

ObjectRecord StoreState::record_of(const ObjectId& id, std::uint64_t type,
                                   const Version& version) const {
  ObjectRecord record;
  record.handle.rights = Rights::all;
  record.handle.object = id;
  record.handle.version = version.number;
  record.handle.size = version.size;
  record.handle.type = type;
  record.handle.home = options.home.value;
  options.key.sign(record.handle);
  record.written_ns = wall_ns();
  return record;
}

ObjectRecord StoreState::record_of(const Object& object, const Version& version) const {
  ObjectRecord record = record_of(object.id, object.type, version);
  record.persistent = true;
  record.lifetime = {object.lifetime, object.readers_left, object.lease};
  if (object.lifetime == LifetimeKind::lease && object.presence != Presence::promised) {
    record.lifetime.lease =
        object.lifetime_over ? Duration(1) : until(object.lease_end, clock.now());
  }
  return record;
}

Result<Handle> StoreState::add_new(Holder holder, const NewObject& wanted, Version version,
                                   Voucher* voucher) {
  const ObjectId id = new_id();
  if (!wanted.persist) return add(holder, id, wanted, version, {.voucher = voucher});
  ObjectRecord record = record_of(id, wanted.type, version);
  record.persistent = true;
  record.lifetime = wanted.lifetime;
  GODWIT_CHECK(
      options.folder->write(record, {version.extent.data, static_cast<std::size_t>(version.size)}));
  version.file = true;
  auto handle = add(holder, id, wanted, version, {.voucher = voucher});
  if (!handle) remove_files(std::array{ObjectFileName::of(record.handle)}, Arena::Wait::yes);
  return handle;
}

// --- The next start ---

void ObjectStore::restore(std::vector<ObjectRecord> records) {
  // The newest version first: an older one is there because its removal came too late.
  std::sort(records.begin(), records.end(), [](const ObjectRecord& a, const ObjectRecord& b) {
    return a.handle.version > b.handle.version;
  });
  for (const ObjectRecord& record : records) state_->restore(record);
}

void StoreState::restore(const ObjectRecord& record) {
  const Handle& handle = record.handle;
  const ObjectFileName name = ObjectFileName::of(handle);
  if (const Status ours = check(handle, Rights::none); !ours) {
    const auto aside = options.folder->set_aside(name);
    warn(fmt::format("object {} version {} is no object of this node: {}; {}",
                     handle.object.short_hex(), handle.version, ours.error().message,
                     aside ? "the file is now " + *aside : aside.error().message));
    return;
  }
  const std::int64_t now_ns = wall_ns();
  const Time now = clock.now();
  Lifetime lifetime = record.lifetime;
  if (lifetime.kind == LifetimeKind::lease) lifetime.lease = lease_left(record, now_ns);
  Shard& shard = shard_of(handle.object);
  Visit visit(*this, shard, Arena::Wait::yes);
  const bool over = lifetime.kind == LifetimeKind::lease && lifetime.lease <= Duration{};
  if (over || shard.live.contains(handle.object)) {
    visit.remove_file(name);
    return;
  }
  if (objects.fetch_add(1, std::memory_order_relaxed) >= options.max_objects) {
    objects.fetch_sub(1, std::memory_order_relaxed);
    return warn(fmt::format("object {} stays in its file: there are {} others, which is the limit",
                            handle.object.short_hex(), options.max_objects));
  }
  Object& object = shard.live[handle.object];
  object.id = handle.object;
  object.type = handle.type;
  object.created = now - Duration(std::max<std::int64_t>(0, now_ns - record.written_ns));
  object.newest.number = handle.version;
  object.newest.size = handle.size;
  object.newest.file = true;
  object.persistent = true;
  visit.set_lifetime(object, lifetime, nullptr, now);
}

// --- Lifetimes ---

Status StoreState::set_lifetime(const Handle& handle, const Lifetime& lifetime, Arena::Wait wait) {
  Shard& shard = shard_of(handle.object);
  ObjectRecord record;
  for (bool begun = false; !begun;) {
    std::uint64_t moves = 0;
    {
      Visit visit(*this, shard, wait);
      GODWIT_TRY(Object * object, visit.find(handle));
      if (lifetime.kind == LifetimeKind::holder) return refuse_both(handle);
      if (wait == Arena::Wait::no) return refuse_without_wait(handle);
      moves = shard.moves;
      begun = !std::exchange(object->filing, true);
      if (begun) {
        record = record_of(*object, object->newest);
        record.lifetime = lifetime;
        if (!object->newest.file) record.persistent = false;  // promised: there is no file yet
      }
    }
    if (!begun) wait_for_move(shard, moves);
  }
  const Status written = record.persistent ? options.folder->set_lifetime(record) : Status();
  Visit visit(*this, shard, wait);
  const auto object = visit.find(handle);
  visit.end_filing(object ? *object : nullptr);
  if (!object) return tl::unexpected(object.error());
  if (written) visit.set_lifetime(**object, lifetime, nullptr, clock.now());
  return written;
}

}  // namespace godwit::ref
