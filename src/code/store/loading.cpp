// Which code of a bundle is loaded, when and where.
//
// A first load takes what is ready soonest of what runs well: compiled for this CPU and kept from
// before, native, compiled quickly. What was compiled quickly is compiled again, well, in the
// background while it serves. Code with state cannot be exchanged, so its first calls wait until it
// is compiled well; one such compile runs at a time, so that it never takes all loading threads.
#include <utility>

#include "base/fail.hpp"
#include "code/store/store.hpp"

namespace godwit::code {

// What a loading thread works on, and what came of it. The bundle keeps the slices' bytes alive.
struct Store::Load {
  Bundle bundle;
  std::uint64_t stay = 0;
  Loaders loaders;
  const SliceInfo* native = nullptr;
  const SliceInfo* bitcode = nullptr;  // perhaps only its name is here

  Tier tier = Tier::native;
  bool cached = false;
  bool is_second = false;     // replaces what runs already
  bool must_compile = false;  // nothing is loaded: it has to be compiled well first
  std::shared_ptr<const CompiledCode> compiled;
  Result<std::unique_ptr<Library>> loaded;

  [[nodiscard]] LoadRequest request(const SliceInfo& slice) const {
    return {slice.id, slice.bytes, bundle.name(), bundle.needs(), tier, compiled};
  }

  // Not the owner's thread, like everything below.
  void load_first() {
    if (load_cached()) return;
    if (native != nullptr) {
      tier = Tier::native;
      loaded = loaders.native->load(request(*native));
    } else if (bitcode->stateful()) {
      // State must never be duplicated, so code with state is compiled once, and well.
      tier = Tier::optimised;
      must_compile = true;
    } else {
      tier = Tier::fast;
      loaded = loaders.jit->load(request(*bitcode));
    }
  }

  // Opening the JIT takes a hundred times as long as loading native code, so it is not done for
  // code that is here natively.
  bool load_cached() {
    if (bitcode == nullptr || (native != nullptr && !loaders.jit->is_open())) return false;
    tier = Tier::optimised;
    compiled = loaders.jit->find_compiled(request(*bitcode));
    if (compiled == nullptr) return false;
    auto kept = loaders.jit->load(request(*bitcode));
    compiled.reset();
    // It may not link any more, when a library is gone: the other ways say what is wrong.
    if (!kept) return false;
    loaded = *std::move(kept);
    cached = true;
    return true;
  }

  // Runs nothing of it.
  void compile() {
    auto result = loaders.jit->compile(request(*bitcode));
    if (result) {
      compiled = *std::move(result);
    } else {
      loaded = tl::unexpected(std::move(result).error());
    }
  }

  void load_compiled() {
    if (!loaded) return;  // it does not compile
    loaded = loaders.jit->load(request(*bitcode));
    compiled.reset();
  }
};

Store::LoadPtr Store::new_load(const Residence& residence) const {
  auto load = std::make_shared<Load>();
  load->bundle = residence.bundle;
  load->stay = residence.stay;
  load->loaders = loaders_;
  if (const auto slice = choose_slice(load->bundle, options_.target);
      slice && (*slice)->kind == SliceKind::native) {
    load->native = *slice;
  }
  if (loaders_.jit != nullptr) load->bitcode = find_bitcode(load->bundle, options_.target);
  return load;
}

void Store::start_loading(const Residence& residence) {
  const LoadPtr load = new_load(residence);
  scheduler_.offload([load] { load->load_first(); },
                     [load, self = self_] {
                       if (*self == nullptr) return;
                       if (!load->must_compile) return (*self)->finish_load(*load);
                       (*self)->to_compile_.push_back(load);
                       (*self)->next_compile();
                     });
}

void Store::next_compile() {
  if (compiling_ || to_compile_.empty()) return;
  const LoadPtr load = std::move(to_compile_.front());
  to_compile_.pop_front();
  compiling_ = true;
  scheduler_.offload(
      [load] {
        load->compile();
        load->load_compiled();
      },
      [load, self = self_] {
        if (*self == nullptr) return;
        (*self)->compiling_ = false;
        (*self)->next_compile();
        (*self)->finish_load(*load);
      });
}

// One at a time: it costs memory, and nobody waits for it. Only compiling happens in the
// background: what it compiled is loaded where it can start threads of normal priority.
void Store::next_optimisation() {
  if (optimising_ || to_optimise_.empty()) return;
  const LoadPtr load = new_load(*residences_.at(to_optimise_.front()));
  to_optimise_.pop_front();
  load->tier = Tier::optimised;
  load->is_second = true;
  optimising_ = true;
  scheduler_.offload_background([load] { load->compile(); },
                                [load, self = self_] {
                                  if (*self != nullptr) (*self)->load_optimised(load);
                                });
}

void Store::load_optimised(const LoadPtr& load) {
  scheduler_.offload([load] { load->load_compiled(); },
                     [load, self = self_] {
                       if (*self == nullptr) return;
                       (*self)->optimising_ = false;
                       (*self)->next_optimisation();
                       (*self)->finish_load(*load);
                     });
}

void Store::finish_load(Load& load) {
  const auto it = residences_.find(load.bundle.id());
  if (it == residences_.end() || it->second->stay != load.stay) {
    if (load.loaded) discard(*std::move(load.loaded));  // it was evicted meanwhile
    return;
  }
  Residence& residence = *it->second;
  if (!load.is_second) return finish_first_load(residence, load);
  // A failed second tier costs speed, not service: the first one stays.
  if (load.loaded && install(residence, load)) ++counters_.optimised_later;
}

void Store::finish_first_load(Residence& residence, Load& load) {
  const ContentId id = load.bundle.id();
  Status status = load.loaded ? install(residence, load) : tl::unexpected(load.loaded.error());
  if (status) {
    ++counters_.first_loads[static_cast<std::size_t>(load.tier)];
    if (load.cached) ++counters_.cached_first_loads;
    keep_within_budget(id);
  } else {
    fail_residence(residence, status.error());
  }
  if (status && load.tier == Tier::fast) to_optimise_.push_back(id);
  if (events_ != nullptr) events_->on_code(id, status);
  next_optimisation();
}

// Makes calls go to the loaded library from now on. Error: corrupt_code, and nothing has changed.
Status Store::install(Residence& residence, Load& load) {
  std::unique_ptr<Library> library = *std::move(load.loaded);
  const auto& functions = residence.bundle.functions();
  std::vector<godwit_entry> entries;
  for (const FunctionInfo& function : functions) {
    entries.push_back(library->entry(function.entry));
    if (entries.back() != nullptr) continue;
    discard(std::move(library));
    return fail(ErrorCode::corrupt_code,
                "bundle '{}' promises function '{}', but its code does not define {}",
                residence.bundle.name(), function.name, function.entry);
  }
  retire_libraries(residence);
  residence.libraries.push_back(std::make_unique<LibraryUse>());
  LibraryUse& use = *residence.libraries.back();
  use.bundle = load.bundle.id();
  use.name = load.bundle.name();
  use.tier = load.tier;
  use.cached = load.cached;
  use.memory_bytes = library->memory_bytes();
  use.library = std::move(library);
  residence.memory_bytes += use.memory_bytes;
  memory_bytes_ += use.memory_bytes;
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
  return {};
}

}  // namespace godwit::code
