#include "ref/access/pieces.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ref/access/piece_source_for_test.hpp"

namespace godwit::ref {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PiecesTest : public testing::Test {
 protected:
  static constexpr std::size_t kCount = 7;
  static constexpr std::size_t kSize = (kCount - 1) * Pieces::kBytes + 1'000;
  static constexpr Duration kPatience = seconds(60);

  Pieces pieces(const ByteRange& range = {0, kSize}) {
    return {home_, range, kPatience,
            [this](std::uint64_t offset, const ArrivedPiece& piece) -> Result<bool> {
              if (Checksum::of(piece.bytes) != piece.checksum) return false;
              EXPECT_EQ(offset, taken_.size() + first_) << "in order, and without a gap";
              taken_.insert(taken_.end(), piece.bytes.begin(), piece.bytes.end());
              return true;
            }};
  }
  void expect_all_came_once() {
    EXPECT_EQ(taken_, home_.bytes);
    for (std::size_t piece = 0; piece < kCount; ++piece) EXPECT_EQ(home_.sent(piece), 1U) << piece;
  }
  static void expect_error(const Status& status, ErrorCode code, std::string_view part) {
    ASSERT_FALSE(status);
    EXPECT_EQ(to_string(status.error().code), to_string(code)) << status.error().message;
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
  }

  PlayedHome home_{some_bytes(kSize)};
  std::vector<std::byte> taken_;
  std::uint64_t first_ = 0;
};

TEST_F(PiecesTest, EachIsTakenOnceFromFrontToBack) {
  ASSERT_TRUE(pieces().finish(Pieces::kNever));
  expect_all_came_once();
  taken_.clear();
  first_ = 5'000;
  ASSERT_TRUE(pieces({first_, first_ + Pieces::kBytes + 1}).finish(Pieces::kNever));
  EXPECT_EQ(taken_.size(), Pieces::kBytes + 1);
  EXPECT_TRUE(std::equal(taken_.begin(), taken_.end(), home_.bytes.begin() + 5'000));
  EXPECT_TRUE(pieces({first_, first_}).finish(Pieces::kNever)) << "nothing is there at once";
}

TEST_F(PiecesTest, ADamagedOneIsAskedForAgain) {
  home_.damage = [](std::uint64_t piece, unsigned time) {
    return (piece == 2 && time <= Pieces::kMaxDamaged) || (piece == 5 && time == 1);
  };
  ASSERT_TRUE(pieces().finish(Pieces::kNever));
  EXPECT_EQ(taken_, home_.bytes);
  EXPECT_EQ(home_.sent(1), 1U);
  EXPECT_EQ(home_.sent(2), Pieces::kMaxDamaged + 1);
  EXPECT_EQ(home_.sent(5), 2U);
}

TEST_F(PiecesTest, OneThatIsDamagedEachTimeIsAnErrorThatSaysWhichBytes) {
  home_.damage = [](std::uint64_t piece, unsigned) { return piece == 1; };
  expect_error(pieces().finish(Pieces::kNever), ErrorCode::bad_format,
               "bytes 4194304 to 8388608 were damaged on the way, 4 times in a row");
  EXPECT_EQ(home_.sent(1), Pieces::kMaxDamaged + 1);
}

TEST_F(PiecesTest, NoneComesTwiceWhenTheWayToTheHomeBreaksAndIsThereAgain) {
  home_.on_answer = [&](std::uint64_t piece) {
    if (piece == 3) home_.is_up = false;
  };
  home_.on_pause = [&] { home_.is_up = home_.time > Time{0} + seconds(8); };
  ASSERT_TRUE(pieces().finish(Pieces::kNever));
  expect_all_came_once();
  EXPECT_GT(home_.time, Time{0} + seconds(8));
  EXPECT_LT(home_.pauses, 100U);
  EXPECT_EQ(home_.found_again, 0U) << "it had not forgotten the reader";
}

TEST_F(PiecesTest, AHomeThatHasForgottenTheReaderIsToldOfIt) {
  home_.on_answer = [&](std::uint64_t piece) {
    if (piece != 2) return;
    home_.is_up = false;
    home_.knows_reader = false;
  };
  home_.on_pause = [&] { home_.is_up = home_.pauses > 3; };
  ASSERT_TRUE(pieces().finish(Pieces::kNever));
  expect_all_came_once();
  EXPECT_EQ(home_.found_again, 1U);
}

// Else the home would keep the object for a reader that there is not.
TEST_F(PiecesTest, AHomeIsToldOnceHoweverLateTheAnswersAreThatItHadForgotten) {
  home_.knows_reader = false;
  home_.is_late = [](std::uint64_t piece) { return piece == 1 || piece == 3; };
  ASSERT_TRUE(pieces().finish(Pieces::kNever));
  expect_all_came_once();
  EXPECT_EQ(home_.found_again, 1U);
}

TEST_F(PiecesTest, AHomeThatHasTheVersionNoMoreIsAnErrorThatSaysHowMuchHadCome) {
  home_.on_answer = [&](std::uint64_t piece) {
    if (piece != 1) return;
    home_.is_up = false;
    home_.knows_reader = false;
    home_.has_version = false;
  };
  home_.on_pause = [&] { home_.is_up = true; };
  expect_error(pieces().finish(Pieces::kNever), ErrorCode::not_found,
               "8388608 of 25166824 bytes had come, then: the object is not there any more");
}

TEST_F(PiecesTest, AHomeThatStaysAwayIsAnErrorOnceThereIsNoTimeLeft) {
  home_.on_answer = [&](std::uint64_t) { home_.is_up = false; };
  expect_error(pieces().finish(Pieces::kNever), ErrorCode::unreachable, "4194304 of");
  EXPECT_EQ(home_.time, Time{1} + Pieces::kLongestAbsence);
  EXPECT_LT(home_.pauses, 300U) << "it is not asked all the time";
  taken_.clear();
  home_.is_up = true;
  home_.time = Time{1};
  expect_error(pieces().finish(Time{1} + seconds(5)), ErrorCode::unreachable, "4194304 of");
  EXPECT_EQ(home_.time, Time{1} + seconds(5));
}

TEST_F(PiecesTest, WhatIsOfOnePieceIsNotWaitedForBeyondItsLink) {
  home_.is_up = false;
  expect_error(pieces({0, Pieces::kBytes}).finish(Pieces::kNever), ErrorCode::unreachable, "0 of");
  EXPECT_EQ(home_.pauses, 0U);
}

TEST_F(PiecesTest, AHomeThatSaysNothingIsAnErrorInTime) {
  home_.on_answer = [&](std::uint64_t piece) { home_.is_silent = piece == 1; };
  expect_error(pieces().finish(Time{1} + milliseconds(300)), ErrorCode::deadline, "8388608 of");
  EXPECT_EQ(home_.time, Time{1} + milliseconds(300));
}

TEST_F(PiecesTest, SomebodyWithMoreTimeGoesOnWhereAnotherStopped) {
  home_.on_answer = [&](std::uint64_t piece) { home_.is_silent = piece == 1; };
  Pieces all = pieces();
  EXPECT_FALSE(all.finish(Time{1} + milliseconds(300)));
  home_.on_answer = {};
  home_.is_silent = false;
  ASSERT_TRUE(all.finish(Time{1} + seconds(300)));
  expect_all_came_once();
}

}  // namespace
}  // namespace godwit::ref
