#include "fabric/memory/life_word.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "fabric/memory/segment.hpp"
#include "fabric/test_child.hpp"

namespace godwit::fabric {
namespace {

constexpr std::size_t kWords = 1024;
constexpr std::uint64_t kValue = 0x600D'600D'600D'600D;

// A process that shares memory full of kValue, and tells of its end.
class Home {
 public:
  // `then` runs in that process once it has shared everything; when it returns, the process ends.
  explicit Home(std::function<void()> then = [] { ::pause(); })
      : process_([this, then = std::move(then)] {
          auto life = LifeWord::create();
          auto memory = Segment::create("home", kWords * sizeof kValue);
          if (!life || !memory) ::_exit(2);
          for (std::size_t i = 0; i < kWords; ++i)
            std::memcpy(memory->data() + i * sizeof kValue, &kValue, sizeof kValue);
          std::vector<Fd> shared;
          shared.push_back((*life)->share().value());
          shared.push_back(memory->share().value());
          pipe_.send(shared);
          shared.clear();
          then();
          ::_exit(0);
        }) {
    const std::vector<Fd> shared = pipe_.receive();
    if (shared.size() != 2) return;
    life_ = PeerLife::open(shared[0]).value();
    memory_ = SegmentView::open(shared[1], kWords * sizeof kValue).value();
  }
  [[nodiscard]] bool is_open() const { return life_.is_open(); }
  // What is loaded, unless it must not be called good.
  [[nodiscard]] std::optional<std::uint64_t> load(std::size_t index) const {
    std::uint64_t value = 0;
    std::memcpy(&value, memory_.data() + index * sizeof value, sizeof value);
    if (!life_.alive_after_loads()) return std::nullopt;
    return value;
  }
  ChildProcess& process() { return process_; }
  DescriptorPipe& pipe() { return pipe_; }

 private:
  DescriptorPipe pipe_;
  ChildProcess process_;
  PeerLife life_;
  SegmentView memory_;
};

TEST(LifeWord, EveryLoadAfterAKillAndAWaitIsRefused) {
  for (int round = 0; round < 100; ++round) {
    Home home;
    ASSERT_TRUE(home.is_open());
    for (std::size_t i = 0; i < kWords; ++i) ASSERT_EQ(home.load(i), kValue);
    home.process().kill();
    for (std::size_t i = 0; i < kWords; ++i) ASSERT_FALSE(home.load(i)) << round;
  }
}

TEST(LifeWord, IsMarkedBeforeASocketOfTheDeadProcessEnds) {
  for (int round = 0; round < 100; ++round) {
    Home home;
    ASSERT_TRUE(home.is_open());
    ASSERT_TRUE(home.load(0));
    ::kill(home.process().pid(), SIGKILL);
    home.pipe().wait_for_end();
    ASSERT_FALSE(home.load(0)) << round;
  }
}

TEST(LifeWord, IsMarkedHoweverTheProcessEnds) {
  const std::vector<std::pair<const char*, std::function<void()>>> ends = {
      {"it returns", [] {}},
      {"it aborts",
       [] {
         ::signal(SIGABRT, SIG_DFL);
         ::abort();
       }},
      {"it is told to end", [] { ::raise(SIGTERM); }},
      {"it becomes another program",
       [] { ::execl("/bin/sleep", "sleep", "60", static_cast<char*>(nullptr)); }},
      {"a thread ends it",
       [] {
         std::thread([] { ::_exit(1); }).detach();
         ::pause();
       }},
  };
  for (const auto& [name, end] : ends) {
    int release[2];
    ASSERT_EQ(::pipe2(release, O_CLOEXEC), 0);
    const Fd read_end(release[0]);
    Fd write_end(release[1]);
    Home home([&, run = end] {
      char byte = 0;
      (void)!::read(read_end.get(), &byte, 1);
      run();
    });
    ASSERT_TRUE(home.is_open()) << name;
    EXPECT_TRUE(home.load(0)) << name;
    ASSERT_EQ(::write(write_end.get(), "x", 1), 1);
    home.pipe().wait_for_end();
    EXPECT_FALSE(home.load(0)) << name;
  }
}

TEST(LifeWord, IsGoodWhileAnyThreadOfTheProcessLives) {
  Home home([] { ::syscall(SYS_exit, 0); });
  ASSERT_TRUE(home.is_open());
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(home.load(0));
  home.process().kill();
  EXPECT_FALSE(home.load(0));
}

TEST(LifeWord, DoesNotLiveOnInAChildOfItsProcess) {
  int hold[2];
  ASSERT_EQ(::pipe2(hold, O_CLOEXEC), 0);
  const Fd read_end(hold[0]);
  Fd write_end(hold[1]);
  Home home([&] {
    write_end.reset();
    if (::fork() == 0) {
      char byte = 0;
      (void)!::read(read_end.get(), &byte, 1);  // until the test ends
      ::_exit(0);
    }
    ::pause();
  });
  ASSERT_TRUE(home.is_open());
  EXPECT_TRUE(home.load(0));
  home.process().kill();
  EXPECT_FALSE(home.load(0));
}

TEST(LifeWord, IsMarkedWhenItsOwnerLetsGoOfIt) {
  auto life = LifeWord::create().value();
  const PeerLife peer = PeerLife::open(life->share().value()).value();
  EXPECT_TRUE(peer.alive_after_loads());
  life.reset();
  EXPECT_FALSE(peer.alive_after_loads());
}

TEST(LifeWord, AReaderThatNeverStopsIsToldInTime) {
  for (int round = 0; round < 3; ++round) {
    Home home;
    ASSERT_TRUE(home.is_open());
    std::atomic<bool> dead = false;
    std::atomic<bool> done = false;
    std::atomic<std::uint64_t> good = 0;
    std::uint64_t good_after_death = 0;
    std::thread reader([&] {
      for (std::size_t i = 0; !done; ++i) {
        const bool was_dead = dead;
        const auto value = home.load(i % kWords);
        good += value ? 1 : 0;
        if (was_dead && value) ++good_after_death;
      }
    });
    while (good < 1000) std::this_thread::yield();
    home.process().kill();
    dead = true;
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    done = true;
    reader.join();
    ASSERT_EQ(good_after_death, 0U);
  }
}

TEST(LifeWord, PagesThatAreNoneAreRefusedAndNobodyCanWriteToOne) {
  const auto code_of = [](const Fd& fd) {
    const auto peer = PeerLife::open(fd);
    return peer ? ErrorCode::none : peer.error().code;
  };
  EXPECT_EQ(code_of(create_memory("short", kPageSize / 2).value()), ErrorCode::protocol_violation);
  EXPECT_EQ(code_of(create_memory("long", 2 * kPageSize).value()), ErrorCode::protocol_violation);
  const Fd shrinks(::memfd_create("shrinks", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(shrinks.get(), kPageSize), 0);
  EXPECT_EQ(code_of(shrinks), ErrorCode::protocol_violation);
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const Fd read_end(pipe[0]);
  const Fd write_end(pipe[1]);
  EXPECT_EQ(code_of(read_end), ErrorCode::protocol_violation);
  // A page that nobody ever held.
  const Fd empty = create_memory("empty", kPageSize).value();
  EXPECT_FALSE(PeerLife::open(empty).value().alive_after_loads());

  const auto life = LifeWord::create().value();
  const Fd page = life->share().value();
  EXPECT_FALSE(map_memory(page.get(), kPageSize, Access::write));
  EXPECT_LT(::pwrite(page.get(), "x", 1, 0), 0);
}

}  // namespace
}  // namespace godwit::fabric
