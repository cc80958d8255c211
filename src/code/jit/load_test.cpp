// Loading: what is accepted, what is refused and how, and that unloading gives everything back.
#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <thread>

#include "base/resident_for_test.hpp"
#include "base/sanitizers.hpp"
#include "base/seeds_for_test.hpp"
#include "code/jit/jit_fixture.hpp"

#ifdef GODWIT_SANITIZED
// Corrupt bitcode makes LLVM ask for absurd amounts of memory; malloc is to refuse, not to abort.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "allocator_may_return_null=1:report_mutex_bugs=0";
}
#endif

namespace godwit::code::jit {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(JitLoad, RunsAFunctionInBothTiers) {
  auto jit = open_or_fail();
  for (const Tier tier : {Tier::fast, Tier::optimised}) {
    const auto library = load_or_fail(*jit, "add", tier);
    EXPECT_EQ(call(*library, "add", 40, 2).word(), 42U);
    EXPECT_EQ(library->entry("subtract"), nullptr);
    EXPECT_EQ(library->entry("malloc"), nullptr) << "symbols of the process are no entries";
    EXPECT_GE(library->memory_bytes(), 4096U);
    EXPECT_FALSE(library->pinned());
  }
}

// Parts of libstdc++ exist inlined or not at all; code generation alone would import them.
TEST(JitLoad, InlinesWhatMustBeInlinedInTheFastTier) {
  auto jit = open_or_fail();
  const auto library = load_or_fail(*jit, "objects_raw", Tier::fast);
  EXPECT_EQ(call(*library, "corners").word(), 1011U);
  EXPECT_EQ(call(*library, "sum_of_squares", 3).word(), 14U);
}

TEST(JitLoad, KeepsLibrariesWithTheSameSymbolsApart) {
  auto jit = open_or_fail();
  const auto one = load_or_fail(*jit, "twin_1", Tier::fast);
  const auto two = load_or_fail(*jit, "twin_2", Tier::optimised);
  EXPECT_EQ(call(*one, "ask").word(), 1U);
  EXPECT_EQ(call(*two, "ask").word(), 2U);
}

TEST(JitLoad, NamesBothMachinesWhenBitcodeIsForAnother) {
  auto jit = open_or_fail();
  const auto library = try_load(*jit, test_bitcode("add_aarch64"), Tier::fast);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::no_slice);
  EXPECT_THAT(library.error().message, AllOf(HasSubstr("aarch64"), HasSubstr(jit->info().arch)));
}

TEST(JitLoad, NamesEverySymbolThatIsMissing) {
  auto jit = open_or_fail();
  const auto library = try_load(*jit, test_bitcode("imports"), Tier::fast);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::missing_symbol);
  EXPECT_THAT(library.error().message,
              AllOf(HasSubstr("godwit_no_such_function"), HasSubstr("godwit_no_such_other")));
}

TEST(JitLoad, OpensTheLibrariesTheBundleNeeds) {
  auto jit = open_or_fail();
  const auto library = try_load(*jit, test_bitcode("zlib"), Tier::fast, {"libz.so.1"});
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_EQ(call(**library, "checksum").word(), 0xb9fc0597U);
}

TEST(JitLoad, NamesALibraryThatIsMissing) {
  auto jit = open_or_fail();
  for (const std::string soname : {"libgodwit-none.so.7", "/tmp/evil.so", ""}) {
    const auto library = try_load(*jit, test_bitcode("add"), Tier::fast, {soname});
    ASSERT_FALSE(library);
    EXPECT_EQ(library.error().code, ErrorCode::missing_library);
    EXPECT_THAT(library.error().message, HasSubstr(soname));
  }
}

TEST(JitLoad, RefusesNativeCodeAndRubbish) {
  auto jit = open_or_fail();
  EXPECT_EQ(try_load(*jit, test_bitcode("add"), Tier::native).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(try_load(*jit, "", Tier::fast).error().code, ErrorCode::corrupt_code);
  EXPECT_EQ(try_load(*jit,
                     "\x7f"
                     "ELF and so on",
                     Tier::fast)
                .error()
                .code,
            ErrorCode::corrupt_code);
}

TEST(JitLoad, RefusesTruncatedBitcode) {
  auto jit = open_or_fail();
  const std::string whole = test_bitcode("objects");
  for (std::size_t part = 1; part <= 16; ++part) {
    const auto library = try_load(*jit, whole.substr(0, whole.size() * part / 17), Tier::fast);
    ASSERT_FALSE(library) << part;
    EXPECT_EQ(library.error().code, ErrorCode::corrupt_code) << library.error().message;
  }
}

// A flip may hit padding or a name, and then the module is as good as before; what must not happen
// is a crash, an exit or an error that blames somebody else. Nothing of it is run: the module has
// no constructors. LLVM's reader does follow null pointers in some of these.
TEST(JitLoad, SurvivesCorruptBitcode) {
  const LeaksExpected leaks;
  auto jit = open_or_fail();
  const std::string whole = test_bitcode("objects");
  const Seed seed(7);
  std::mt19937 random(seed.value());
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::string damaged = whole;
    for (int flip = 0; flip < 1 + round % 8; ++flip) {
      damaged[random() % damaged.size()] ^= static_cast<char>(1U << (random() % 8));
    }
    const auto library = try_load(*jit, damaged, Tier::fast);
    if (library) continue;
    ++refused;
    EXPECT_THAT(library.error().code,
                testing::AnyOf(ErrorCode::corrupt_code, ErrorCode::no_slice,
                               ErrorCode::missing_symbol, ErrorCode::compile_failed))
        << library.error().message;
  }
  EXPECT_GE(refused, 100);
  EXPECT_EQ(call(*load_or_fail(*jit, "objects", Tier::fast), "check", 1).status, GODWIT_OK);
}

TEST(JitLoad, TellsWhichCodeHasState) {
  auto jit = open_or_fail();
  for (const std::string name : {"add", "dot", "objects"}) {
    EXPECT_FALSE(jit->stateful(bytes_of(test_bitcode(name))).value()) << name;
  }
  for (const std::string name : {"twin_1", "lifetime", "threads", "bad_start"}) {
    EXPECT_TRUE(jit->stateful(bytes_of(test_bitcode(name))).value()) << name;
  }
}

TEST(JitLoad, LoadsFromSeveralThreadsAtOnce) {
  auto jit = open_or_fail();
  std::vector<std::thread> threads;
  for (std::uint64_t id = 0; id < 4; ++id) {
    threads.emplace_back([&jit, id] {
      for (std::uint64_t round = 0; round < 10; ++round) {
        const Tier tier = (id + round) % 4 == 0 ? Tier::optimised : Tier::fast;
        const auto library = load_or_fail(*jit, "add", tier);
        ASSERT_EQ(call(*library, "add", id, round).word(), id + round);
        const auto objects = load_or_fail(*jit, "objects", Tier::fast);
        ASSERT_EQ(call(*objects, "check", 11).status, GODWIT_APP_ERROR);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(JitLoad, LibrariesOutliveTheJit) {
  auto jit = open_or_fail();
  const auto library = load_or_fail(*jit, "objects", Tier::fast);
  jit.reset();
  EXPECT_EQ(call(*library, "check", 11).bytes, "value 11 is above 10");
}

struct Footprint {
  std::size_t maps = 0;
  std::size_t resident_bytes = 0;
  static Footprint now() {
    Footprint footprint;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) ++footprint.maps;
    footprint.resident_bytes = godwit::resident_bytes();
    return footprint;
  }
};

// A thread that outlives the libraries it called, as those of a node do: what it has of their
// thread-locals must not wait for its end.
class LastingThread {
 public:
  explicit LastingThread(std::function<void()> work)
      : work_(std::move(work)), thread_([this] { serve(); }) {}
  ~LastingThread() {
    wanted_ = -1;
    wanted_.notify_one();
    thread_.join();
  }
  LastingThread(const LastingThread&) = delete;
  LastingThread& operator=(const LastingThread&) = delete;
  // Runs the work there, once.
  void run() {
    const int turn = ++wanted_;
    wanted_.notify_one();
    for (int seen = done_; seen != turn; seen = done_) done_.wait(seen);
  }

 private:
  void serve() {
    for (int turn = 1;; ++turn) {
      wanted_.wait(turn - 1);
      if (wanted_ < 0) return;
      work_();
      done_ = turn;
      done_.notify_one();
    }
  }
  std::function<void()> work_;
  std::atomic<int> wanted_{0};
  std::atomic<int> done_{0};
  std::thread thread_;
};

void load_and_unload(int cycles) {
  const TemporaryDirectory directory;
  auto jit = open_or_fail({.cache_directory = directory.path()});
  std::unique_ptr<Library> scratch;
  const auto fill = [&] { ASSERT_EQ(call(*scratch, "fill").word(), 1U); };
  LastingThread other(fill);
  const auto cycle = [&] {
    const auto library = load_or_fail(*jit, "objects", Tier::optimised);
    ASSERT_EQ(call(*library, "corners").word(), 1011U);
    ASSERT_EQ(call(*library, "check", 11).status, GODWIT_APP_ERROR);
    scratch = load_or_fail(*jit, "scratch", Tier::optimised);
    fill();
    other.run();
    scratch.reset();
  };
  for (int i = 0; i < 100; ++i) cycle();
  const Footprint before = Footprint::now();
  for (int i = 0; i < cycles; ++i) cycle();
  const Footprint after = Footprint::now();
  EXPECT_LE(after.maps, before.maps + 4);
  if (!kSanitized) {
    EXPECT_LT(after.resident_bytes, before.resident_bytes + (std::size_t{1} << 20));
  }
}

TEST(JitLoad, ThreadsThatEndGiveTheirThreadLocalsBack) {
  auto jit = open_or_fail();
  const auto library = load_or_fail(*jit, "scratch", Tier::fast);
  const auto visit = [&] {
    std::thread([&] { ASSERT_EQ(call(*library, "fill").word(), 1U); }).join();
  };
  for (int i = 0; i < 20; ++i) visit();
  const Footprint before = Footprint::now();
  for (int i = 0; i < 200; ++i) visit();
  if (!kSanitized) {
    EXPECT_LT(Footprint::now().resident_bytes, before.resident_bytes + (std::size_t{4} << 20));
  }
}

TEST(JitLoad, UnloadingGivesTheMemoryBack) {
  load_and_unload(500);
}
TEST(JitLoad, LongUnloadingGivesTheMemoryBack) {
  load_and_unload(10'000);
}

}  // namespace
}  // namespace godwit::code::jit
