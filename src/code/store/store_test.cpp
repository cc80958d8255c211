#include "code/store/store.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>

#include "base/fail.hpp"

namespace godwit::code {
namespace {

// Runs nothing by itself; offloaded work waits until it is told to run.
class ManualScheduler final : public Scheduler {
 public:
  Time now() const override { return now_; }
  void post(Task task) override { tasks_.push_back(std::move(task)); }
  TimerId post_at(Time, Task task) override {
    tasks_.push_back(std::move(task));
    return {};
  }
  void cancel(TimerId) override {}
  void offload(Task work, Task done) override {
    offloaded_.emplace_back(std::move(work), std::move(done));
  }
  // One piece of offloaded work, if there is one.
  bool work_once() {
    if (offloaded_.empty()) return false;
    auto [work, done] = std::move(offloaded_.front());
    offloaded_.pop_front();
    work();
    done();
    return true;
  }
  void work_all() {
    while (work_once()) {
    }
  }
  void pass(Duration time) { now_ = now_ + time; }

 private:
  Time now_{1'000'000'000};
  std::deque<Task> tasks_;
  std::deque<std::pair<Task, Task>> offloaded_;
};

std::int32_t native_entry(const godwit_here_v1*, const void*, std::size_t, godwit_reply*) {
  return 1;
}
std::int32_t fast_entry(const godwit_here_v1*, const void*, std::size_t, godwit_reply*) {
  return 2;
}
std::int32_t best_entry(const godwit_here_v1*, const void*, std::size_t, godwit_reply*) {
  return 3;
}

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
  Result<std::unique_ptr<Library>> load(const LoadRequest& request) override {
    ++loads;
    if (fail_next) return fail(ErrorCode::missing_library, "libz.so.1 is not here");
    const godwit_entry entry = request.tier == Tier::native ? &native_entry
                               : request.tier == Tier::fast ? &fast_entry
                                                            : &best_entry;
    return std::make_unique<FakeLibrary>(*this, entry);
  }
  int alive = 0;
  int loads = 0;
  bool fail_next = false;
  bool pin = false;
};

Bundle bundle(const std::string& name, SliceKind kind = SliceKind::native, bool stateful = false,
              const std::string& entry = "entry") {
  BundleBuilder builder(name);
  builder.function({"f", "() -> unit", entry, 0});
  SliceInfo slice;
  slice.kind = kind;
  slice.machine = host_machine();
  slice.triple = triple_of(slice.machine);
  slice.producer = "test";
  slice.llvm_major = kind == SliceKind::bitcode ? 19 : 0;
  slice.traits.mutable_globals = stateful;
  builder.slice(std::move(slice), Buffer::copy_of(bytes_of("code of " + name)));
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

TEST_F(StoreTest, LoadsABundleOnceAndFindsItsFunctionsByToken) {
  const Bundle code = bundle("a");
  ASSERT_TRUE(store_.add(code));
  ASSERT_TRUE(store_.add(code)) << "already on its way";
  EXPECT_FALSE(store_.function(code.id(), 0));
  scheduler_.work_all();
  EXPECT_EQ(ready_, 1);
  EXPECT_EQ(loader_.loads, 1);
  const std::uint64_t token = store_.token_of(slot(code));
  ASSERT_NE(store_.find(token), nullptr);
  EXPECT_EQ(store_.find(token)->entry, &native_entry);
  EXPECT_EQ(store_.find(token + 1), nullptr) << "another generation";
  EXPECT_EQ(store_.find(UINT64_MAX), nullptr);
  EXPECT_EQ(store_.function(code.id(), 7).error().code, ErrorCode::unknown_function);
}

TEST_F(StoreTest, TheOptimisedTierReplacesTheFastOneWithoutAPause) {
  const Bundle code = bundle("a", SliceKind::bitcode);
  ASSERT_TRUE(store_.add(code));
  ASSERT_TRUE(scheduler_.work_once());
  const std::uint64_t token = store_.token_of(slot(code));
  EXPECT_EQ(store_.find(token)->entry, &fast_entry);
  LibraryUse& inside = store_.enter(slot(code));
  scheduler_.work_all();
  EXPECT_EQ(store_.find(token)->entry, &best_entry) << "the token stays good";
  EXPECT_EQ(loader_.alive, 2) << "a call is still inside the fast code";
  store_.leave(inside);
  scheduler_.work_all();
  EXPECT_EQ(loader_.alive, 1);
}

TEST_F(StoreTest, CodeWithStateIsLoadedOnceAndOptimised) {
  const Bundle code = bundle("a", SliceKind::bitcode, true);
  ASSERT_TRUE(store_.add(code));
  scheduler_.work_all();
  EXPECT_EQ(loader_.loads, 1);
  EXPECT_EQ(slot(code).entry, &best_entry);
}

TEST_F(StoreTest, EvictsTheLeastRecentlyUsedAndGivesMemoryBack) {
  std::vector<Bundle> codes;
  for (const char* name : {"a", "b", "c"}) {
    codes.push_back(bundle(name));
    ASSERT_TRUE(store_.add(codes.back()));
    scheduler_.work_all();
  }
  const std::uint64_t token = store_.token_of(slot(codes[1]));
  store_.leave(store_.enter(slot(codes[0])));  // b is now the oldest
  const Bundle another = bundle("d");
  ASSERT_TRUE(store_.add(another));
  scheduler_.work_all();
  EXPECT_EQ(store_.residence(codes[1].id()), nullptr);
  EXPECT_NE(store_.residence(codes[0].id()), nullptr);
  EXPECT_EQ(store_.find(token), nullptr) << "its token is stale";
  EXPECT_EQ(loader_.alive, 3);
  EXPECT_LE(store_.memory_bytes(), 35'000U);
}

TEST_F(StoreTest, TenThousandCyclesOfLoadAndEvictLeaveNothing) {
  const std::size_t empty = store_.memory_bytes();
  const Bundle code = bundle("a");
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(store_.add(code));
    scheduler_.work_all();
    ASSERT_TRUE(store_.evict(code.id()));
    scheduler_.work_all();
  }
  EXPECT_EQ(loader_.alive, 0);
  EXPECT_EQ(store_.memory_bytes(), empty);
  EXPECT_EQ(store_.evictions(), 10'000U);
}

TEST_F(StoreTest, AFailureIsRememberedForAMomentThenTriedAgain) {
  const Bundle code = bundle("a");
  loader_.fail_next = true;
  ASSERT_TRUE(store_.add(code));
  scheduler_.work_all();
  EXPECT_EQ(last_error_.code, ErrorCode::missing_library);
  ASSERT_NE(store_.residence(code.id()), nullptr);
  EXPECT_EQ(store_.residence(code.id())->state, Residence::State::failed);
  scheduler_.pass(std::chrono::seconds(2));
  EXPECT_EQ(store_.residence(code.id()), nullptr);
  loader_.fail_next = false;
  ASSERT_TRUE(store_.add(code));
  scheduler_.work_all();
  EXPECT_EQ(ready_, 1);
}

TEST_F(StoreTest, CodeThatLacksAPromisedFunctionIsCorrupt) {
  ASSERT_TRUE(store_.add(bundle("a", SliceKind::native, false, "missing")));
  scheduler_.work_all();
  EXPECT_EQ(last_error_.code, ErrorCode::corrupt_code);
  EXPECT_NE(last_error_.message.find("missing"), std::string::npos);
}

TEST_F(StoreTest, PinnedCodeStaysAndSaysWhy) {
  const Bundle code = bundle("a");
  ASSERT_TRUE(store_.add(code));
  scheduler_.work_all();
  loader_.pin = true;
  EXPECT_FALSE(store_.evict(code.id()));
  ASSERT_EQ(store_.list().size(), 1U);
  EXPECT_EQ(store_.list()[0].pinned, "it may have threads");
  EXPECT_EQ(store_.list()[0].state, "ready");
}

TEST_F(StoreTest, RetiredCodeIsListedForAsLongAsItIsMapped) {
  const Bundle code = bundle("a", SliceKind::bitcode);
  ASSERT_TRUE(store_.add(code));
  ASSERT_TRUE(scheduler_.work_once());
  LibraryUse& inside = store_.enter(slot(code));
  scheduler_.work_all();
  std::vector<ResidenceInfo> listed = store_.list();
  ASSERT_EQ(listed.size(), 2U);
  const ResidenceInfo& retired = listed[listed[0].state == "retired" ? 0 : 1];
  EXPECT_EQ(retired.state, "retired");
  EXPECT_EQ(retired.name, "a");
  EXPECT_EQ(retired.bundle, code.id());
  EXPECT_EQ(retired.tier, to_string(Tier::fast));
  EXPECT_EQ(retired.calls_inside, 1U);
  EXPECT_EQ(store_.retired_bytes(), 10'000U);
  loader_.pin = true;
  EXPECT_EQ(store_.list()[0].pinned, "it may have threads");
  store_.leave(inside);
  scheduler_.work_all();
  EXPECT_EQ(store_.list().size(), 2U) << "pinned code stays mapped";
}

TEST_F(StoreTest, AFailureIsListedWithItsReason) {
  loader_.fail_next = true;
  ASSERT_TRUE(store_.add(bundle("a")));
  scheduler_.work_all();
  ASSERT_EQ(store_.list().size(), 1U);
  EXPECT_EQ(store_.list()[0].state, "failed");
  EXPECT_EQ(store_.list()[0].error, "libz.so.1 is not here");
}

}  // namespace
}  // namespace godwit::code
