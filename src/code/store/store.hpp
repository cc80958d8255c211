// The code a node has: bundles that arrived, the libraries made of them, and the table that turns
// a function token into an entry to call.
//
// A state machine: every member is called by the scheduler's owning thread. Loading, compiling and
// unloading happen through Scheduler::offload.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/scheduler.hpp"
#include "code/bundle/bundle.hpp"
#include "code/bundle/choose_slice.hpp"
#include "code/library.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

// A library in use. Calls hold it while they run; the store retires it when it is replaced or
// evicted; it is unloaded when both are done and nothing pins it.
struct LibraryUse {
  std::unique_ptr<Library> library;
  ContentId bundle;
  std::string name;  // the bundle's, which may be gone before the library is
  Tier tier = Tier::native;
  bool cached = false;           // its code was compiled earlier and kept
  std::size_t memory_bytes = 0;  // counts until it is unloaded
  std::uint32_t calls_inside = 0;
  bool retired = false;
};

// A function that can be called now. Stable in memory; valid while its generation stands.
struct FunctionSlot {
  godwit_entry entry = nullptr;
  LibraryUse* library = nullptr;
  std::uint32_t generation = 1;
  std::uint32_t flags = 0;  // GODWIT_EXPORT_...
  struct Residence* residence = nullptr;
  std::uint32_t function = 0;  // index in the bundle

  [[nodiscard]] bool is_inline() const noexcept { return (flags & GODWIT_EXPORT_INLINE) != 0; }
  [[nodiscard]] bool is_idempotent() const noexcept {
    return (flags & GODWIT_EXPORT_IDEMPOTENT) != 0;
  }
};

// One bundle's stay on this node.
struct Residence {
  enum class State : std::uint8_t { loading, ready, failed };

  Bundle bundle;
  std::uint64_t stay = 0;  // tells this stay from an earlier one of the same bundle
  State state = State::loading;
  Error error;                       // when failed
  Time failed_at;                    // a failure is remembered for a moment, then tried again
  std::vector<std::uint32_t> slots;  // by function index; empty until ready
  std::vector<std::unique_ptr<LibraryUse>> libraries;  // the current one is last
  std::uint64_t last_used = 0;
  std::uint64_t calls = 0;
  std::size_t memory_bytes = 0;
};

// What a person may want to know about code that is here. A bundle has one entry for its stay, and
// one for each library of it that was replaced or evicted and could not be unloaded yet: nothing
// new is called there, and it goes when its calls have left and nothing pins it any more.
struct ResidenceInfo {
  ContentId bundle;
  std::string name;
  std::string state;    // "loading", "ready", "failed", "retired"
  std::string tier;     // of the code that runs: "native", "fast", "optimised"; empty if none does
  bool cached = false;  // that code was compiled earlier and kept on disk
  std::size_t memory_bytes = 0;
  std::uint64_t calls = 0;  // since it is here; 0 for what is retired
  std::uint32_t calls_inside = 0;
  std::string pinned;  // why it cannot be unloaded; empty if it can
  std::string error;   // why it failed
};

struct StoreCounters {
  // Which tier answered a bundle's first call, by Tier; of the optimised ones, how many were there
  // at once because an earlier process had compiled them.
  std::array<std::uint64_t, kTierCount> first_loads{};
  std::uint64_t cached_first_loads = 0;
  std::uint64_t optimised_later = 0;  // fast tiers that were replaced
  std::uint64_t evictions = 0;
};

class StoreEvents {
 public:
  virtual ~StoreEvents() = default;
  // Calls of this bundle can be made now, or it failed to load.
  virtual void on_code(const ContentId& bundle, const Status& status) = 0;
};

class Store {
 public:
  struct Options {
    TargetInfo target;
    // Loaded code plus bundle bytes; beyond it the least recently used bundles go.
    std::size_t memory_budget_bytes = std::size_t{1} << 30;
    std::size_t max_bundles = 65536;
    Duration failure_memory = std::chrono::seconds(1);
    // How often pinned code that is retired is looked at again.
    Duration retired_check = std::chrono::seconds(1);
  };
  struct Loaders {
    Loader* native = nullptr;
    Loader* jit = nullptr;  // null: bitcode is not run here
  };

  Store(Scheduler& scheduler, Loaders loaders, Options options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  void set_events(StoreEvents* events) { events_ = events; }

  // --- The hot path -----------------------------------------------------------------------
  // The function behind a token this store gave out, or null if it is gone. O(1).
  [[nodiscard]] FunctionSlot* find(std::uint64_t token) noexcept {
    const std::uint64_t index = token >> 32;
    if (index >= slots_.size()) return nullptr;
    FunctionSlot& slot = slots_[index];
    return slot.generation == static_cast<std::uint32_t>(token) && slot.entry != nullptr ? &slot
                                                                                         : nullptr;
  }
  [[nodiscard]] std::uint64_t token_of(const FunctionSlot& slot) const noexcept;
  // Brackets a call: the library stays loaded in between, whatever happens to the bundle.
  LibraryUse& enter(FunctionSlot& slot) noexcept {
    slot.residence->last_used = ++use_clock_;
    ++slot.residence->calls;
    ++slot.library->calls_inside;
    return *slot.library;
  }
  void leave(LibraryUse& library) {
    if (--library.calls_inside == 0 && library.retired) unload(library);
  }

  // --- Bundles ----------------------------------------------------------------------------
  [[nodiscard]] const Residence* residence(const ContentId& bundle) const;
  // The slot of a ready bundle's function; unknown_function if it has none such.
  [[nodiscard]] Result<FunctionSlot*> function(const ContentId& bundle, std::uint32_t function);
  // Takes code in and starts loading it; on_code follows, from a later task. A bundle that is
  // already here, or on its way, changes nothing.
  [[nodiscard]] Status add(Bundle bundle);
  // Forgets a bundle. Running calls finish; tokens become stale at once. False: not here, or
  // it cannot go now (loading, pinned).
  bool evict(const ContentId& bundle);

  // Everything that is here, by name. O(bundles); for people, not for every call.
  [[nodiscard]] std::vector<ResidenceInfo> list() const;
  // Of retired code that is still mapped.
  [[nodiscard]] std::size_t retired_bytes() const;
  [[nodiscard]] std::size_t memory_budget_bytes() const { return options_.memory_budget_bytes; }
  // Bundles, loaded code, and retired code that is still mapped.
  [[nodiscard]] std::size_t memory_bytes() const { return memory_bytes_; }
  [[nodiscard]] const StoreCounters& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t evictions() const { return counters_.evictions; }
  [[nodiscard]] const TargetInfo& target() const { return options_.target; }

 private:
  struct Load;
  using LoadPtr = std::shared_ptr<Load>;
  [[nodiscard]] LoadPtr new_load(const Residence& residence) const;
  void start_loading(const Residence& residence);
  void next_compile();
  void next_optimisation();
  void load_optimised(const LoadPtr& load);
  void finish_load(Load& load);
  void finish_first_load(Residence& residence, Load& load);
  [[nodiscard]] Status install(Residence& residence, Load& load);
  void discard(std::unique_ptr<Library> library);
  void fail_residence(Residence& residence, Error error);
  void retire_libraries(Residence& residence);
  void unload(LibraryUse& library);
  void watch_retired();
  void unload_retired();
  void keep_within_budget(const ContentId& except);
  void forget(std::unordered_map<ContentId, std::unique_ptr<Residence>>::iterator it);
  std::uint32_t claim_slot();

  Scheduler& scheduler_;
  Loaders loaders_;
  Options options_;
  StoreEvents* events_ = nullptr;
  std::unordered_map<ContentId, std::unique_ptr<Residence>> residences_;
  std::deque<FunctionSlot> slots_;  // a deque: slots never move
  std::vector<std::uint32_t> free_slots_;
  // Replaced or evicted, with a call inside or pinned. Counts against the memory budget.
  std::vector<std::unique_ptr<LibraryUse>> retired_;
  std::deque<LoadPtr> to_compile_;  // of residences that are loading
  bool compiling_ = false;
  std::deque<ContentId> to_optimise_;  // of residences that run their fast tier
  bool optimising_ = false;
  bool watching_retired_ = false;
  std::size_t memory_bytes_ = 0;
  std::uint64_t use_clock_ = 0;
  std::uint64_t stays_ = 0;
  StoreCounters counters_;
  // Tasks that come back after the store is gone find this expired.
  std::shared_ptr<Store*> self_;
};

}  // namespace godwit::code
