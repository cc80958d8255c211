// Which tier answers first, and what follows it.
#include "code/store/store_for_test.hpp"

namespace godwit::code {
namespace {

// A bundle with both kinds of code for this machine, of which only the native is held, as a node
// gets it from a caller; and the id of the bitcode.
std::pair<Bundle, ContentId> bundle_of_both(const std::string& name) {
  BundleBuilder builder(name);
  builder.function({"f", "() -> unit", "entry", 0});
  const std::string native = "native code of " + name;
  builder.slice(slice_of(SliceKind::native), Buffer::copy_of(bytes_of(native)));
  builder.slice(slice_of(SliceKind::bitcode), Buffer::copy_of(bytes_of("bitcode of " + name)));
  const Bundle whole = std::move(builder).build().value();
  const Bundle manifest = Bundle::from_manifest(whole.manifest_bytes()).value();
  return {manifest.with_slice(bytes_of(native)).value(), whole.slices()[1].id};
}

TEST_F(StoreTest, CachedOptimisedCodeAnswersFirstAndAlone) {
  const Bundle code = bundle("a", SliceKind::bitcode);
  loader_.cache.insert(code.slices()[0].id);
  ASSERT_TRUE(store_.add(code));
  scheduler_.work_all();
  EXPECT_EQ(slot(code).entry, &best_entry);
  EXPECT_EQ(loader_.loads, 1);
  EXPECT_EQ(loader_.compiles, 0);
  ASSERT_EQ(store_.list().size(), 1U);
  EXPECT_EQ(store_.list()[0].tier, "optimised");
  EXPECT_TRUE(store_.list()[0].cached);
  EXPECT_EQ(store_.counters().first_loads, (std::array<std::uint64_t, kTierCount>{0, 0, 1}));
  EXPECT_EQ(store_.counters().cached_first_loads, 1U);
}

TEST_F(StoreTest, CachedOptimisedCodeIsPreferredToNativeCode) {
  const auto [code, bitcode] = bundle_of_both("a");
  loader_.cache.insert(bitcode);
  ASSERT_TRUE(store_.add(code));
  scheduler_.work_all();
  EXPECT_EQ(slot(code).entry, &best_entry);
  EXPECT_TRUE(store_.list()[0].cached);
}

TEST_F(StoreTest, NativeCodeIsPreferredToWhatHasToBeCompiled) {
  const auto [code, bitcode] = bundle_of_both("a");
  ASSERT_TRUE(store_.add(code));
  scheduler_.work_all();
  EXPECT_EQ(slot(code).entry, &native_entry);
  EXPECT_EQ(loader_.compiles, 0);
  EXPECT_EQ(store_.list()[0].tier, "native");
  EXPECT_EQ(store_.counters().first_loads, (std::array<std::uint64_t, kTierCount>{1, 0, 0}));
}

TEST_F(StoreTest, TheJitIsNotOpenedForCodeThatIsHereNatively) {
  const auto [code, bitcode] = bundle_of_both("a");
  loader_.cache.insert(bitcode);
  loader_.open = false;
  ASSERT_TRUE(store_.add(code));
  scheduler_.work_all();
  EXPECT_EQ(slot(code).entry, &native_entry);
  EXPECT_FALSE(loader_.open);
}

TEST_F(StoreTest, CachedCodeThatDoesNotLinkAnyMoreIsCompiledAgain) {
  for (const bool stateful : {false, true}) {
    const Bundle code = bundle(stateful ? "a" : "b", SliceKind::bitcode, stateful);
    loader_.cache.insert(code.slices()[0].id);
    loader_.cache_is_stale = true;
    ASSERT_TRUE(store_.add(code));
    scheduler_.work_once();
    loader_.cache_is_stale = false;
    scheduler_.work_all();
    EXPECT_EQ(slot(code).entry, &best_entry);
    EXPECT_FALSE(store_.residence(code.id())->libraries.back()->cached);
  }
  EXPECT_EQ(loader_.compiles, 2);
  EXPECT_EQ(store_.counters().first_loads, (std::array<std::uint64_t, kTierCount>{0, 1, 1}));
}

TEST_F(StoreTest, TheFastTierNeverQueuesBehindAnOptimisingCompile) {
  for (const char* name : {"a", "b", "c"}) {
    const Bundle code = bundle(name, SliceKind::bitcode);
    ASSERT_TRUE(store_.add(code));
    scheduler_.work_all_but_background();
    EXPECT_EQ(slot(code).entry, &fast_entry) << name;
  }
  ASSERT_TRUE(scheduler_.work_once_in_background());
  EXPECT_FALSE(scheduler_.work_once_in_background()) << "one is compiled at a time";
  scheduler_.work_all();
  EXPECT_EQ(loader_.compiles, 3);
  EXPECT_EQ(store_.counters().optimised_later, 3U);
}

TEST_F(StoreTest, CodeWithStateIsCompiledOneAtATimeAndNotInTheBackground) {
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(store_.add(bundle(name, SliceKind::bitcode, true)));
  }
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(scheduler_.work_once());  // nothing is cached
  EXPECT_EQ(loader_.compiles, 0);
  const Bundle quick = bundle("quick");
  ASSERT_TRUE(store_.add(quick));
  ASSERT_TRUE(scheduler_.work_once());
  EXPECT_EQ(loader_.compiles, 1) << "of three, one has been handed to a thread";
  ASSERT_TRUE(scheduler_.work_once());
  EXPECT_EQ(slot(quick).entry, &native_entry);
  scheduler_.work_all_but_background();
  EXPECT_EQ(loader_.compiles, 3);
  EXPECT_EQ(ready_, 4);
}

TEST_F(StoreTest, TheFastTierStaysWhenOptimisingFails) {
  loader_.fail_compile = true;
  const Bundle code = bundle("a", SliceKind::bitcode);
  ASSERT_TRUE(store_.add(code));
  scheduler_.work_all();
  EXPECT_EQ(slot(code).entry, &fast_entry);
  EXPECT_EQ(store_.list()[0].state, "ready");
}

TEST_F(StoreTest, CodeWithStateThatDoesNotCompileFails) {
  loader_.fail_compile = true;
  ASSERT_TRUE(store_.add(bundle("a", SliceKind::bitcode, true)));
  scheduler_.work_all();
  EXPECT_EQ(last_error_.code, ErrorCode::compile_failed);
  EXPECT_EQ(store_.list()[0].error, "LLVM gave up");
}

TEST_F(StoreTest, WhatIsEvictedWhileItIsCompiledIsNotInstalled) {
  const Bundle code = bundle("a", SliceKind::bitcode);
  ASSERT_TRUE(store_.add(code));
  scheduler_.work_all_but_background();
  ASSERT_TRUE(store_.evict(code.id()));
  ASSERT_TRUE(store_.add(code));  // the same bundle, another stay
  ASSERT_TRUE(scheduler_.work_once_in_background());
  scheduler_.work_all_but_background();
  EXPECT_EQ(ready_, 2);
  EXPECT_EQ(slot(code).entry, &fast_entry) << "the compile was for the stay before";
  scheduler_.work_all();
  EXPECT_EQ(slot(code).entry, &best_entry);
  EXPECT_EQ(loader_.alive, 1);
}

TEST_F(StoreTest, WhatWaitsToBeOptimisedIsForgottenWhenItIsEvicted) {
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(store_.add(bundle(name, SliceKind::bitcode)));
    scheduler_.work_all_but_background();
  }
  ASSERT_TRUE(store_.evict(bundle("b", SliceKind::bitcode).id()));
  scheduler_.work_all();
  EXPECT_EQ(loader_.compiles, 1);
}

}  // namespace
}  // namespace godwit::code
