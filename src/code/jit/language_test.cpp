// C++ in loaded code works in every tier, and the same when the object comes from the cache.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "code/jit/jit_fixture.hpp"

namespace godwit::code::jit {
namespace {

struct Mode {
  Tier tier;
  bool cached;
};

class JitLanguage : public testing::TestWithParam<Mode> {
 protected:
  // The library of testdata/NAME.cpp, compiled or from the cache.
  std::unique_ptr<Library> load(const std::string& name) {
    if (!GetParam().cached) return load_or_fail(*jit_, name, GetParam().tier);
    load_or_fail(*jit_, name, GetParam().tier).reset();
    auto library = load_or_fail(*jit_, name, GetParam().tier);
    EXPECT_EQ(jit_->counters().cache_hits, 1U);
    EXPECT_EQ(jit_->counters().compiled, 1U);
    return library;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Jit> jit_ =
      open_or_fail({.cache_directory = GetParam().cached ? directory_.path() : ""});
};

bool eventually(const auto& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST_P(JitLanguage, ConstructorsRunInOrderAndDestructorsInReverse) {
  auto library = load("lifetime");
  EXPECT_EQ(call(*library, "first_ran").word(), 1U);
  EXPECT_EQ(call(*library, "constructed").bytes, "bcd");
  std::string log;
  EXPECT_EQ(call(*library, "watch", &log).status, GODWIT_OK);
  EXPECT_EQ(log, "");
  library.reset();
  EXPECT_EQ(log, "xldcbz");
}

TEST_P(JitLanguage, EachLoadHasItsOwnState) {
  auto first = load("lifetime");
  std::string log;
  call(*first, "watch", &log);
  auto second = load_or_fail(*jit_, "lifetime", GetParam().tier);
  second.reset();
  EXPECT_EQ(log, "");
}

TEST_P(JitLanguage, ExceptionsAreThrownCaughtAndPassThrough) {
  const auto library = load("objects");
  EXPECT_EQ(call(*library, "check", 1).status, GODWIT_OK);
  const Answer refused = call(*library, "check", 11);
  EXPECT_EQ(refused.status, GODWIT_APP_ERROR);
  EXPECT_EQ(refused.bytes, "value 11 is above 10");
  EXPECT_THROW(call(*library, "escape"), std::runtime_error);
}

TEST_P(JitLanguage, VirtualCallsAndContainersWork) {
  EXPECT_EQ(call(*load("objects"), "corners").word(), 1011U);
}

TEST_P(JitLanguage, CoroutinesWork) {
  EXPECT_EQ(call(*load("objects"), "sum_of_squares", 4).word(), 30U);
}

TEST_P(JitLanguage, AThrowingConstructorIsAnError) {
  const auto library = try_load(*jit_, test_bitcode("bad_start"), GetParam().tier);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::app_error);
  EXPECT_THAT(library.error().message, testing::HasSubstr("not today"));
}

TEST_P(JitLanguage, ThreadLocalsArePerThread) {
  const auto library = load("threads");
  EXPECT_EQ(call(*library, "count_up").word(), 41U);
  EXPECT_EQ(call(*library, "count_up").word(), 42U);
  EXPECT_EQ(call(*library, "count_in_new_thread").word(), 41U);
  std::thread([&] { EXPECT_EQ(call(*library, "count_up").word(), 41U); }).join();
  EXPECT_EQ(call(*library, "count_up").word(), 43U);
}

TEST_P(JitLanguage, ThreadLocalsStartWithTheirValuesAndAligned) {
  const auto library = load("scratch");
  for (int thread = 0; thread < 3; ++thread) {
    std::thread([&] { EXPECT_EQ(call(*library, "initial_values").word(), 1U); }).join();
  }
  EXPECT_EQ(call(*library, "initial_values").word(), 1U);
}

TEST_P(JitLanguage, ANewLoadHasNewThreadLocals) {
  for (int round = 0; round < 3; ++round) {
    auto library = load_or_fail(*jit_, "scratch", GetParam().tier);
    EXPECT_EQ(call(*library, "fill").word(), 1U);
    EXPECT_EQ(call(*library, "fill").word(), 2U);
    EXPECT_EQ(call(*library, "initial_values").word(), 1U);
  }
}

TEST_P(JitLanguage, ThreadLocalDestructorsRunAtThreadExit) {
  const auto library = load("threads");
  std::atomic<std::uint64_t> destroyed{0};
  std::thread([&] {
    EXPECT_EQ(call(*library, "visit", &destroyed).word(), 1U);
    EXPECT_EQ(call(*library, "visit", &destroyed).word(), 2U);
    EXPECT_TRUE(library->pinned());
    EXPECT_EQ(destroyed.load(), 0U);
  }).join();
  EXPECT_EQ(destroyed.load(), 1U);
  EXPECT_FALSE(library->pinned()) << *library->pinned();
}

TEST_P(JitLanguage, ThreadLocalDestructorsRunAfterTheLibraryIsGone) {
  auto library = load("threads");
  std::atomic<std::uint64_t> destroyed{0};
  std::thread([&] {
    EXPECT_EQ(call(*library, "visit", &destroyed).word(), 1U);
    library.reset();
    jit_.reset();
    EXPECT_EQ(destroyed.load(), 0U);
  }).join();
  EXPECT_EQ(destroyed.load(), 1U);
}

TEST_P(JitLanguage, PromisesAndCallOnceUseTheThreadLocalsOfLibstdcxx) {
  const auto library = load("threads");
  EXPECT_EQ(call(*library, "promise_kept").word(), 18U);
  EXPECT_EQ(call(*library, "promise_kept").word(), 17U);
}

TEST_P(JitLanguage, RunningThreadsPinTheLibrary) {
  auto library = load("threads");
  std::atomic<std::uint64_t> flag{0};
  call(*library, "start_thread", &flag);
  ASSERT_TRUE(library->pinned());
  EXPECT_THAT(*library->pinned(), testing::HasSubstr("1 threads"));
  flag = 1;
  EXPECT_TRUE(eventually([&] { return !library->pinned(); }));
  EXPECT_EQ(flag.load(), 2U);
}

TEST_P(JitLanguage, CodeStaysMappedUntilItsThreadsEnd) {
  auto library = load("threads");
  std::atomic<std::uint64_t> flag{0};
  call(*library, "start_thread", &flag);
  library.reset();
  jit_.reset();
  flag = 1;
  EXPECT_TRUE(eventually([&] { return flag == 2; }));
}

INSTANTIATE_TEST_SUITE_P(Tiers, JitLanguage,
                         testing::Values(Mode{Tier::fast, false}, Mode{Tier::optimised, false},
                                         Mode{Tier::optimised, true}),
                         [](const auto& mode) {
                           return std::string(to_string(mode.param.tier)) +
                                  (mode.param.cached ? "_cached" : "");
                         });

std::atomic<std::uint64_t> destroyed_at_exit{0};

// Exit runs thread-local destructors first, then exit handlers: the handler sees their work.
[[noreturn]] void exit_with_a_pending_destructor() {
  std::atexit([] { _exit(destroyed_at_exit == 1 ? 7 : 8); });
  auto jit = open_or_fail();
  auto library = load_or_fail(*jit, "threads", Tier::fast);
  call(*library, "visit", &destroyed_at_exit);
  library.reset();
  jit.reset();
  std::exit(0);  // NOLINT(concurrency-mt-unsafe)
}

TEST(JitExitDeathTest, PendingDestructorsOfTheMainThreadRunAtExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_with_a_pending_destructor(), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace godwit::code::jit
