// What the tests of the store share: a scheduler that waits to be told, and loaders of fake code.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "code/store/store.hpp"

namespace godwit::code {

// Runs nothing by itself; offloaded work waits until it is told to run.
class ManualScheduler final : public Scheduler {
 public:
  Time now() const override { return now_; }
  void post(Task task) override { tasks_.push_back(std::move(task)); }
  TimerId post_at(Time when, Task task) override {
    timers_.emplace(when, std::move(task));
    return {};
  }
  void cancel(TimerId) override {}
  void offload(Task work, Task done) override {
    offloaded_.emplace_back(std::move(work), std::move(done));
  }
  void offload_background(Task work, Task done) override {
    background_.emplace_back(std::move(work), std::move(done));
  }
  // One piece of offloaded work, if there is one.
  bool work_once() { return run_one(offloaded_); }
  bool work_once_in_background() { return run_one(background_); }
  // What keeps nobody waiting for a compile.
  void work_all_but_background() {
    while (work_once()) {
    }
  }
  void work_all() {
    while (work_once() || work_once_in_background()) {
    }
  }
  void pass(Duration time) {
    now_ = now_ + time;
    while (!timers_.empty() && timers_.begin()->first <= now_) {
      Task task = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      task();
    }
  }

 private:
  using Works = std::deque<std::pair<Task, Task>>;
  static bool run_one(Works& works) {
    if (works.empty()) return false;
    auto [work, done] = std::move(works.front());
    works.pop_front();
    work();
    done();
    return true;
  }

  Time now_{1'000'000'000};
  std::deque<Task> tasks_;
  std::multimap<Time, Task> timers_;
  Works offloaded_;
  Works background_;
};

inline std::int32_t native_entry(const godwit_here_v1*, const void*, std::size_t, godwit_reply*) {
  return 1;
}
inline std::int32_t fast_entry(const godwit_here_v1*, const void*, std::size_t, godwit_reply*) {
  return 2;
}
inline std::int32_t best_entry(const godwit_here_v1*, const void*, std::size_t, godwit_reply*) {
  return 3;
}

// Loads anything, native or not, and keeps what it compiled well.
class FakeLoader final : public Loader {
 public:
  class FakeLibrary final : public Library {
   public:
    FakeLibrary(FakeLoader& owner, godwit_entry code) : owner_(owner), entry_(code) {
      ++owner_.alive;
    }
    ~FakeLibrary() override { --owner_.alive; }
    godwit_entry entry(std::string_view symbol) const override {
      return symbol == "missing" ? nullptr : entry_;
    }
    std::size_t memory_bytes() const override { return 10'000; }
    std::optional<std::string> pinned() const override {
      return owner_.pin ? std::optional<std::string>("it may have threads") : std::nullopt;
    }

   private:
    FakeLoader& owner_;
    godwit_entry entry_;
  };
  struct FakeCode final : CompiledCode {};

  Result<std::unique_ptr<Library>> load(const LoadRequest& request) override {
    ++loads;
    if (fail_next) return fail(ErrorCode::missing_library, "libz.so.1 is not here");
    if (cache_is_stale && request.compiled != nullptr) {
      return fail(ErrorCode::missing_symbol, "what was kept does not link");
    }
    const godwit_entry entry = request.tier == Tier::native ? &native_entry
                               : request.tier == Tier::fast ? &fast_entry
                                                            : &best_entry;
    return std::make_unique<FakeLibrary>(*this, entry);
  }
  Result<std::shared_ptr<const CompiledCode>> compile(const LoadRequest& request) override {
    EXPECT_EQ(request.tier, Tier::optimised);
    ++compiles;
    if (fail_compile) return fail(ErrorCode::compile_failed, "LLVM gave up");
    return std::make_shared<FakeCode>();
  }
  std::shared_ptr<const CompiledCode> find_compiled(const LoadRequest& request) override {
    EXPECT_EQ(request.tier, Tier::optimised);
    open = true;
    return cache.contains(request.slice) ? std::make_shared<FakeCode>() : nullptr;
  }
  bool is_open() const override { return open; }

  int alive = 0;
  int loads = 0;
  int compiles = 0;
  std::set<ContentId> cache;  // slices
  bool cache_is_stale = false;
  bool open = true;
  bool fail_next = false;
  bool fail_compile = false;
  bool pin = false;
};

inline SliceInfo slice_of(SliceKind kind, bool stateful = false) {
  SliceInfo slice;
  slice.kind = kind;
  slice.machine = host_machine();
  slice.triple = triple_of(slice.machine);
  slice.producer = "test";
  slice.llvm_major = kind == SliceKind::bitcode ? 19 : 0;
  slice.traits.mutable_globals = stateful;
  return slice;
}

inline Bundle bundle(const std::string& name, SliceKind kind = SliceKind::native,
                     bool stateful = false, const std::string& entry = "entry") {
  BundleBuilder builder(name);
  builder.function({"f", "() -> unit", entry, 0});
  builder.slice(slice_of(kind, stateful), Buffer::copy_of(bytes_of("code of " + name)));
  return std::move(builder).build().value();
}

class StoreTest : public ::testing::Test, protected StoreEvents {
 protected:
  StoreTest() : store_(scheduler_, {&loader_, &loader_}, options()) { store_.set_events(this); }
  static Store::Options options() {
    Store::Options options;
    options.target.has_jit = true;
    options.target.llvm_major = 19;
    options.memory_budget_bytes = 35'000;  // three libraries
    return options;
  }
  void on_code(const ContentId&, const Status& status) override {
    if (status) {
      ++ready_;
    } else {
      last_error_ = status.error();
    }
  }
  FunctionSlot& slot(const Bundle& of) { return **store_.function(of.id(), 0); }

  ManualScheduler scheduler_;
  FakeLoader loader_;
  Store store_;
  int ready_ = 0;
  Error last_error_;
};

}  // namespace godwit::code
