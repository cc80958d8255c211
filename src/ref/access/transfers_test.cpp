#include "ref/access/transfers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizers.hpp"
#include "ref/access/piece_source_for_test.hpp"

namespace godwit::ref {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kPieces = 6;
constexpr std::size_t kSize = kPieces * Pieces::kBytes;

// Real time, and a piece for each that the test allows.
class GatedHome final : public PlayedHome {
 public:
  using MayAnswer = std::function<bool()>;
  explicit GatedHome(MayAnswer may_answer)
      : PlayedHome(some_bytes(kSize)), may_answer_(std::move(may_answer)) {}

  bool wait(std::size_t slot, Duration at_most) override {
    const Time until = now() + at_most;
    do {
      time = now();
      if (PlayedHome::wait(slot, Duration(0))) return true;
      std::this_thread::yield();
    } while (now() < until);
    return false;
  }
  [[nodiscard]] Time now() const override {
    return Time{std::chrono::steady_clock::now().time_since_epoch().count()};
  }

 private:
  bool answers_now() override { return may_answer_(); }

  const MayAnswer may_answer_;
};

class TransfersTest : public testing::Test {
 protected:
  static Transfers::Key key(std::uint8_t object) {
    Transfers::Key key{NodeId{7}, {}, 1};
    key.object.bytes[0] = object;
    return key;
  }
  Transfers::Wanted join(std::uint8_t object, std::unique_ptr<GatedHome> home) {
    auto joined = transfers_.join({key(object), kSize, seconds(60), std::move(home)});
    EXPECT_TRUE(joined);
    return *std::move(joined);
  }
  static Time in(Duration time) {
    return Time{std::chrono::steady_clock::now().time_since_epoch().count()} + time;
  }
  static void expect_whole(const Transfers::Wanted& wanted) {
    ASSERT_TRUE(wanted.bytes) << wanted.bytes.error().message;
    const std::vector<std::byte> expected = some_bytes(kSize);
    const Bytes found = (*wanted.bytes)->view();
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), expected.size()), 0);
  }

  Transfers transfers_;
};

TEST_F(TransfersTest, ThreadsThatWantOneObjectFetchItOnce) {
  constexpr std::size_t kThreads = 4;
  std::atomic<bool> open = false;
  std::atomic<unsigned> pieces = 0;
  std::vector<Transfers::Wanted> wanted;
  for (std::size_t i = 0; i < kThreads; ++i) {
    auto home = std::make_unique<GatedHome>([&] { return open.load(); });
    home->on_answer = [&](std::uint64_t) { ++pieces; };
    wanted.push_back(join(1, std::move(home)));
  }
  EXPECT_EQ(transfers_.under_way(), 1U);
  std::vector<std::thread> threads;
  for (auto& one : wanted) {
    threads.emplace_back([&] { transfers_.finish({&one, 1}, Pieces::kNever); });
  }
  open = true;
  for (auto& thread : threads) thread.join();
  for (const auto& one : wanted) {
    expect_whole(one);
    EXPECT_EQ(one.bytes->get(), wanted.front().bytes->get()) << "one copy serves all";
  }
  EXPECT_EQ(pieces, kPieces);
  EXPECT_EQ(transfers_.under_way(), 0U);
}

// Gives away the memory that the piece has arrived in, if it has it.
class GivingHome final : public PlayedHome {
 public:
  GivingHome(std::size_t size, bool gives, const std::byte** given)
      : PlayedHome(some_bytes(size)), gives_(gives), given_(given) {}
  Buffer keep(std::size_t slot) override {
    if (!gives_) return {};
    Buffer memory = Buffer::copy_of(answer(slot)->bytes);
    *given_ = memory.data();
    return memory;
  }

 private:
  const bool gives_;
  const std::byte** given_;
};

TEST_F(TransfersTest, AnObjectOfOnePieceStaysWhereItHasArrived) {
  constexpr std::size_t kOne = Pieces::kBytes - 1;
  for (const bool gives : {true, false}) {
    for (const unsigned damaged : {0U, 2U}) {
      const std::byte* given = nullptr;
      auto home = std::make_unique<GivingHome>(kOne, gives, &given);
      home->damage = [damaged](std::uint64_t, unsigned time) { return time <= damaged; };
      auto wanted = transfers_.join({key(1), kOne, seconds(60), std::move(home)}).value();
      transfers_.finish({&wanted, 1}, Pieces::kNever);
      ASSERT_TRUE(wanted.bytes) << wanted.bytes.error().message;
      const Bytes found = (*wanted.bytes)->view();
      const std::vector<std::byte> expected = some_bytes(kOne);
      ASSERT_EQ(found.size(), kOne);
      EXPECT_EQ(std::memcmp(found.data(), expected.data(), kOne), 0);
      EXPECT_EQ(found.data() == given, gives);
    }
  }
}

TEST_F(TransfersTest, WhoeverHasTimeLeftGoesOnWhereAnotherStopped) {
  std::atomic<unsigned> allowed = 2;
  std::atomic<unsigned> pieces = 0;
  auto home = std::make_unique<GatedHome>([&] { return pieces < allowed; });
  home->on_answer = [&](std::uint64_t) { ++pieces; };
  auto hasty = join(1, std::move(home));
  auto patient = join(1, std::make_unique<GatedHome>([] { return true; }));
  auto other = join(1, std::make_unique<GatedHome>([] { return true; }));
  std::thread waiting;
  {
    std::atomic<bool> has_ended = false;
    std::thread driving([&] {
      transfers_.finish({&hasty, 1}, in(kSanitized ? milliseconds(5'000) : milliseconds(500)));
      has_ended = true;
    });
    while (pieces < 2 && !has_ended) std::this_thread::yield();  // it drives
    waiting = std::thread([&] { transfers_.finish({&patient, 1}, Pieces::kNever); });
    transfers_.finish({&other, 1}, in(milliseconds(1)));
    driving.join();
  }
  ASSERT_FALSE(hasty.bytes);
  EXPECT_EQ(hasty.bytes.error().code, ErrorCode::deadline);
  ASSERT_FALSE(other.bytes);
  EXPECT_EQ(other.bytes.error().code, ErrorCode::deadline);
  allowed = kPieces;
  waiting.join();
  expect_whole(patient);
  EXPECT_EQ(pieces, kPieces) << "what had come did not come again";
  EXPECT_EQ(transfers_.under_way(), 0U);
}

TEST_F(TransfersTest, OneThatEverybodyGaveUpLeavesNothingBehind) {
  auto only = join(1, std::make_unique<GatedHome>([] { return false; }));
  transfers_.finish({&only, 1}, in(milliseconds(1)));
  ASSERT_FALSE(only.bytes);
  EXPECT_EQ(only.bytes.error().code, ErrorCode::deadline);
  EXPECT_EQ(transfers_.under_way(), 0U);
}

TEST_F(TransfersTest, WhatEndsATransferEndsItForAll) {
  std::atomic<bool> open = false;
  auto home = std::make_unique<GatedHome>([&] { return open.load(); });
  home->damage = [](std::uint64_t piece, unsigned) { return piece == 3; };
  auto first = join(1, std::move(home));
  auto second = join(1, std::make_unique<GatedHome>([] { return true; }));
  std::thread thread([&] { transfers_.finish({&first, 1}, Pieces::kNever); });
  open = true;
  transfers_.finish({&second, 1}, Pieces::kNever);
  thread.join();
  for (const auto* wanted : {&first, &second}) {
    ASSERT_FALSE(wanted->bytes);
    EXPECT_EQ(wanted->bytes.error().code, ErrorCode::bad_format);
  }
  auto again = join(1, std::make_unique<GatedHome>([] { return true; }));
  transfers_.finish({&again, 1}, Pieces::kNever);
  expect_whole(again);
}

// None sends its second piece before all have sent their first, and so on.
TEST_F(TransfersTest, OneThreadFetchesSeveralAtTheSameTime) {
  constexpr std::size_t kObjects = Transfers::kTogether;
  std::vector<std::atomic<unsigned>> pieces(kObjects);
  std::vector<Transfers::Wanted> wanted;
  for (std::size_t i = 0; i < kObjects; ++i) {
    auto home = std::make_unique<GatedHome>([&pieces, i] {
      for (const auto& others : pieces) {
        if (pieces[i] > others) return false;
      }
      return true;
    });
    home->on_answer = [&pieces, i](std::uint64_t) { ++pieces[i]; };
    wanted.push_back(join(static_cast<std::uint8_t>(i), std::move(home)));
  }
  transfers_.finish(wanted, in(seconds(20)));
  for (const auto& one : wanted) expect_whole(one);
}

TEST_F(TransfersTest, MoreThanMayBeUnderWayAndTheSameTwiceAllCome) {
  std::vector<Transfers::Wanted> wanted;
  for (std::size_t i = 0; i < 2 * Transfers::kTogether + 1; ++i) {
    wanted.push_back(
        join(static_cast<std::uint8_t>(i / 2), std::make_unique<GatedHome>([] { return true; })));
  }
  transfers_.finish(wanted, Pieces::kNever);
  for (const auto& one : wanted) expect_whole(one);
  EXPECT_EQ(wanted[0].bytes->get(), wanted[1].bytes->get());
  EXPECT_EQ(transfers_.under_way(), 0U);
}

}  // namespace
}  // namespace godwit::ref
