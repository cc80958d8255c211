#include "code/store/store.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"

namespace godwit::code {

Store::Store(Scheduler& scheduler, Loaders loaders, Options options)
    : scheduler_(scheduler),
      loaders_(loaders),
      options_(std::move(options)),
      self_(std::make_shared<Store*>(this)) {}

// Libraries are unloaded here, on the caller's thread: the owner has stopped every call by now.
Store::~Store() {
  *self_ = nullptr;
}

std::uint64_t Store::token_of(const FunctionSlot& slot) const noexcept {
  const std::uint32_t index = slot.residence->slots[slot.function];
  return (std::uint64_t{index} << 32) | slot.generation;
}

const Residence* Store::residence(const ContentId& bundle) const {
  const auto it = residences_.find(bundle);
  if (it == residences_.end()) return nullptr;
  const Residence& found = *it->second;
  const bool forgotten = found.state == Residence::State::failed &&
                         scheduler_.now() - found.failed_at > options_.failure_memory;
  return forgotten ? nullptr : &found;
}

Result<FunctionSlot*> Store::function(const ContentId& bundle, std::uint32_t function) {
  const auto it = residences_.find(bundle);
  if (it == residences_.end() || it->second->state != Residence::State::ready) {
    return fail(ErrorCode::unknown_code, "bundle {} is not loaded here", bundle.short_hex());
  }
  const Residence& found = *it->second;
  if (function >= found.slots.size()) {
    return fail(ErrorCode::unknown_function, "bundle {} ('{}') has {} functions; there is no #{}",
                bundle.short_hex(), found.bundle.name(), found.slots.size(), function);
  }
  return &slots_[found.slots[function]];
}

Status Store::add(Bundle bundle) {
  const ContentId id = bundle.id();
  if (const auto it = residences_.find(id); it != residences_.end()) {
    if (it->second->state != Residence::State::failed) return {};
    forget(it);
  }
  if (residences_.size() >= options_.max_bundles) {
    return fail(ErrorCode::resource_exhausted, "this node holds {} bundles, its limit",
                options_.max_bundles);
  }
  GODWIT_TRY(const SliceInfo* slice, choose_slice(bundle, options_.target));
  if (slice->kind == SliceKind::bitcode && loaders_.jit == nullptr) {
    return fail(ErrorCode::no_slice, "bundle '{}' has only bitcode for this node, which has no JIT",
                bundle.name());
  }
  auto residence = std::make_unique<Residence>();
  residence->bundle = std::move(bundle);
  residence->stay = ++stays_;
  residence->memory_bytes = residence->bundle.memory_bytes();
  residence->last_used = ++use_clock_;
  memory_bytes_ += residence->memory_bytes;
  Residence& added = *residence;
  residences_.emplace(id, std::move(residence));
  start_loading(added);
  return {};
}

void Store::fail_residence(Residence& residence, Error error) {
  residence.state = Residence::State::failed;
  residence.error = std::move(error);
  residence.failed_at = scheduler_.now();
}

void Store::retire_libraries(Residence& residence) {
  for (auto& use : residence.libraries) {
    residence.memory_bytes -= use->memory_bytes;
    use->retired = true;
    retired_.push_back(std::move(use));
    if (retired_.back()->calls_inside == 0) unload(*retired_.back());
  }
  residence.libraries.clear();
}

// Destructors of mobile code may take their time, so they run where loading does. Pinned code
// stays mapped for as long as it is: unmapping it under a thread would be a crash.
void Store::unload(LibraryUse& library) {
  if (library.library->pinned()) return watch_retired();
  const auto it = std::find_if(retired_.begin(), retired_.end(),
                               [&](const auto& use) { return use.get() == &library; });
  memory_bytes_ -= library.memory_bytes;
  std::unique_ptr<Library> doomed = std::move((*it)->library);
  retired_.erase(it);
  discard(std::move(doomed));
}

void Store::discard(std::unique_ptr<Library> library) {
  scheduler_.offload(
      [doomed = std::shared_ptr<Library>(std::move(library))]() mutable { doomed.reset(); }, [] {});
}

// A library does not tell when its last thread has ended; asking is cheap and rarely needed.
void Store::watch_retired() {
  if (std::exchange(watching_retired_, true)) return;
  scheduler_.post_at(scheduler_.now() + options_.retired_check, [self = self_] {
    if (*self != nullptr) (*self)->unload_retired();
  });
}

void Store::unload_retired() {
  watching_retired_ = false;
  std::vector<LibraryUse*> empty;
  for (const auto& use : retired_) {
    if (use->calls_inside == 0) empty.push_back(use.get());
  }
  for (LibraryUse* use : empty) unload(*use);
}

void Store::keep_within_budget(const ContentId& except) {
  while (memory_bytes_ > options_.memory_budget_bytes) {
    const Residence* oldest = nullptr;
    for (const auto& [id, residence] : residences_) {
      if (id == except || residence->state != Residence::State::ready) continue;
      const LibraryUse& use = *residence->libraries.back();
      if (use.calls_inside > 0 || use.library->pinned()) continue;
      if (oldest == nullptr || residence->last_used < oldest->last_used) oldest = residence.get();
    }
    if (oldest == nullptr) return;
    const ContentId victim = oldest->bundle.id();
    if (!evict(victim)) return;
  }
}

bool Store::evict(const ContentId& bundle) {
  const auto it = residences_.find(bundle);
  if (it == residences_.end() || it->second->state == Residence::State::loading) return false;
  const auto& libraries = it->second->libraries;
  if (!libraries.empty() && libraries.back()->library->pinned()) return false;
  ++counters_.evictions;
  forget(it);
  return true;
}

void Store::forget(std::unordered_map<ContentId, std::unique_ptr<Residence>>::iterator it) {
  Residence& residence = *it->second;
  std::erase(to_optimise_, it->first);
  retire_libraries(residence);
  memory_bytes_ -= residence.memory_bytes;
  for (const std::uint32_t index : residence.slots) {
    FunctionSlot& slot = slots_[index];
    ++slot.generation;
    slot.entry = nullptr;
    slot.library = nullptr;
    slot.residence = nullptr;
    free_slots_.push_back(index);
  }
  residences_.erase(it);
}

std::uint32_t Store::claim_slot() {
  if (!free_slots_.empty()) {
    const std::uint32_t index = free_slots_.back();
    free_slots_.pop_back();
    return index;
  }
  slots_.emplace_back();
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

}  // namespace godwit::code
