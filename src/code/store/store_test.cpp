#include "code/store/store_for_test.hpp"

namespace godwit::code {
namespace {

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

TEST_F(StoreTest, WhatWasPinnedWhenItWasRetiredIsListedUntilItCanGo) {
  const Bundle code = bundle("a", SliceKind::bitcode);
  ASSERT_TRUE(store_.add(code));
  scheduler_.work_all_but_background();
  LibraryUse& inside = store_.enter(slot(code));
  scheduler_.work_all();  // the optimised tier takes over
  ASSERT_EQ(store_.list().size(), 2U);
  EXPECT_EQ(store_.list()[1].state, "retired");
  EXPECT_EQ(store_.list()[1].calls_inside, 1U);
  EXPECT_EQ(store_.list()[1].pinned, "");

  loader_.pin = true;
  store_.leave(inside);
  scheduler_.work_all();
  ASSERT_EQ(store_.list().size(), 2U);
  const ResidenceInfo retired = store_.list()[1];
  EXPECT_EQ(retired.bundle, code.id());
  EXPECT_EQ(retired.name, "a");
  EXPECT_EQ(retired.state, "retired");
  EXPECT_EQ(retired.tier, "fast");
  EXPECT_EQ(retired.pinned, "it may have threads");
  EXPECT_EQ(retired.memory_bytes, 10'000U);
  const std::size_t with_retired = store_.memory_bytes();

  scheduler_.pass(std::chrono::seconds(2));
  scheduler_.work_all();
  EXPECT_EQ(loader_.alive, 2) << "still pinned";
  loader_.pin = false;
  scheduler_.pass(std::chrono::seconds(2));
  scheduler_.work_all();
  EXPECT_EQ(loader_.alive, 1);
  EXPECT_EQ(store_.list().size(), 1U);
  EXPECT_EQ(store_.memory_bytes(), with_retired - 10'000);
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
