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
  const bool native = slice->kind == SliceKind::native;
  if (!native && loaders_.jit == nullptr) {
    return fail(ErrorCode::no_slice, "bundle '{}' has only bitcode for this node, which has no JIT",
                bundle.name());
  }
  // State must never be duplicated, so code with state is compiled once, and well.
  const Tier tier = native ? Tier::native : slice->stateful() ? Tier::optimised : Tier::fast;
  auto residence = std::make_unique<Residence>();
  residence->bundle = std::move(bundle);
  residence->memory_bytes = residence->bundle.memory_bytes();
  residence->last_used = ++use_clock_;
  memory_bytes_ += residence->memory_bytes;
  Residence& added = *residence;
  residences_.emplace(id, std::move(residence));
  start_load(added, *slice, tier);
  return {};
}

// What a loading thread works on; the bundle inside keeps the slice's bytes alive.
struct Store::Load {
  Bundle bundle;
  LoadRequest request;
  Loader* loader = nullptr;
  Result<std::unique_ptr<Library>> loaded;
};

void Store::start_load(Residence& residence, const SliceInfo& slice, Tier tier) {
  auto load = std::make_shared<Load>();
  load->bundle = residence.bundle;
  load->loader = tier == Tier::native ? loaders_.native : loaders_.jit;
  load->request.slice = slice.id;
  load->request.code = slice.bytes;
  load->request.name = residence.bundle.name();
  load->request.needs = residence.bundle.needs();
  load->request.tier = tier;
  scheduler_.offload([load] { load->loaded = load->loader->load(load->request); },
                     [load, self = self_] {
                       if (*self == nullptr) return;
                       (*self)->finish_load(load->bundle.id(), load->request.tier,
                                            std::move(load->loaded));
                     });
}

void Store::finish_load(const ContentId& id, Tier tier, Result<std::unique_ptr<Library>> loaded) {
  const bool second_tier = tier == Tier::optimised && optimising_;
  const auto it = residences_.find(id);
  if (it != residences_.end()) {
    Residence& residence = *it->second;
    const bool first = residence.state == Residence::State::loading;
    if (loaded) {
      install(residence, tier, *std::move(loaded));
    } else if (first) {
      fail_residence(residence, std::move(loaded).error());
    }
    // A failed second tier costs speed, not service: the first one stays.
    if (first) {
      const Status status =
          residence.state == Residence::State::ready ? Status{} : tl::unexpected(residence.error);
      if (status) keep_within_budget(id);
      if (events_ != nullptr) events_->on_code(id, status);
      if (status && tier == Tier::fast) consider_optimising(id);
    }
  }
  if (second_tier) {
    optimising_ = false;
    next_optimisation();
  }
}

void Store::install(Residence& residence, Tier tier, std::unique_ptr<Library> library) {
  const auto& functions = residence.bundle.functions();
  std::vector<godwit_entry> entries;
  for (const FunctionInfo& function : functions) {
    entries.push_back(library->entry(function.entry));
    if (entries.back() == nullptr) {
      fail_residence(residence,
                     Error{ErrorCode::corrupt_code,
                           fmt::format("bundle '{}' promises function '{}', but its code "
                                       "does not define {}",
                                       residence.bundle.name(), function.name, function.entry)});
      return;
    }
  }
  const std::size_t bytes = library->memory_bytes();
  residence.memory_bytes += bytes;
  memory_bytes_ += bytes;
  retire_libraries(residence);
  residence.libraries.push_back(std::make_unique<LibraryUse>());
  LibraryUse& use = *residence.libraries.back();
  use.bundle = residence.bundle.id();
  use.name = residence.bundle.name();
  use.library = std::move(library);
  use.tier = tier;
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    if (residence.slots.size() <= i) residence.slots.push_back(claim_slot());
    FunctionSlot& slot = slots_[residence.slots[i]];
    slot.entry = entries[i];
    slot.library = &use;
    slot.flags = functions[i].flags;
    slot.residence = &residence;
    slot.function = i;
  }
  residence.state = Residence::State::ready;
}

void Store::fail_residence(Residence& residence, Error error) {
  residence.state = Residence::State::failed;
  residence.error = std::move(error);
  residence.failed_at = scheduler_.now();
}

void Store::consider_optimising(const ContentId& id) {
  to_optimise_.push_back(id);
  next_optimisation();
}

// One at a time, so that a long compile never keeps first loads waiting for a thread.
void Store::next_optimisation() {
  while (!optimising_ && !to_optimise_.empty()) {
    const ContentId id = to_optimise_.front();
    to_optimise_.pop_front();
    const auto it = residences_.find(id);
    if (it == residences_.end() || it->second->state != Residence::State::ready) continue;
    const auto slice = choose_slice(it->second->bundle, options_.target);
    if (!slice) continue;
    optimising_ = true;
    start_load(*it->second, **slice, Tier::optimised);
  }
}

void Store::retire_libraries(Residence& residence) {
  for (auto& use : residence.libraries) {
    const std::size_t bytes = use->library->memory_bytes();
    residence.memory_bytes -= bytes;
    memory_bytes_ -= bytes;
    use->retired = true;
    retired_.push_back(std::move(use));
    if (retired_.back()->calls_inside == 0) unload(*retired_.back());
  }
  residence.libraries.clear();
}

// Destructors of mobile code may take their time, so they run where loading does. Code that is
// pinned stays mapped for good: unmapping it under a thread would be a crash.
void Store::unload(LibraryUse& library) {
  if (library.library->pinned()) return;
  const auto it = std::find_if(retired_.begin(), retired_.end(),
                               [&](const auto& use) { return use.get() == &library; });
  std::shared_ptr<Library> doomed = std::move((*it)->library);
  retired_.erase(it);
  scheduler_.offload([doomed]() mutable { doomed.reset(); }, [] {});
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
  ++evictions_;
  forget(it);
  return true;
}

void Store::forget(std::unordered_map<ContentId, std::unique_ptr<Residence>>::iterator it) {
  Residence& residence = *it->second;
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

std::size_t Store::retired_bytes() const {
  std::size_t bytes = 0;
  for (const auto& use : retired_) bytes += use->library->memory_bytes();
  return bytes;
}

std::vector<ResidenceInfo> Store::list() const {
  std::vector<ResidenceInfo> all;
  for (const auto& [id, residence] : residences_) {
    ResidenceInfo info;
    info.bundle = id;
    info.name = residence->bundle.name();
    info.memory_bytes = residence->memory_bytes;
    info.calls = residence->calls;
    switch (residence->state) {
      case Residence::State::loading: info.state = "loading"; break;
      case Residence::State::failed:
        info.state = "failed";
        info.error = residence->error.message;
        break;
      case Residence::State::ready: info.state = "ready"; break;
    }
    if (!residence->libraries.empty()) {
      const LibraryUse& use = *residence->libraries.back();
      info.tier = to_string(use.tier);
      info.calls_inside = use.calls_inside;
      info.pinned = use.library->pinned().value_or("");
    }
    all.push_back(std::move(info));
  }
  for (const auto& use : retired_) {
    ResidenceInfo info;
    info.bundle = use->bundle;
    info.name = use->name;
    info.state = "retired";
    info.tier = to_string(use->tier);
    info.memory_bytes = use->library->memory_bytes();
    info.calls_inside = use->calls_inside;
    info.pinned = use->library->pinned().value_or("");
    all.push_back(std::move(info));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

}  // namespace godwit::code
