#include "ref/home/currency.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ref/access/view_cache.hpp"
#include "ref/home/handle_key.hpp"

namespace godwit::ref {
namespace {

HomeCurrency opened(const Currency& currency) {
  const auto shared = currency.share();
  return HomeCurrency::open(shared->words, shared->life).value();
}

TEST(Currency, AWordHoldsUntilItEnds) {
  const auto home = Currency::create().value();
  const HomeCurrency peer = opened(*home);
  const std::uint64_t one = home->issue();
  const std::uint64_t two = home->issue();
  EXPECT_NE(one, two);
  EXPECT_TRUE(peer.holds(one) && peer.holds(two));
  home->end(one);
  EXPECT_FALSE(peer.holds(one));
  EXPECT_TRUE(peer.holds(two));
  const std::uint64_t again = home->issue();
  EXPECT_FALSE(peer.holds(one)) << "also when its word is used again";
  EXPECT_TRUE(peer.holds(again));
}

TEST(Currency, ThereAreSoManyWordsAndNoMore) {
  const auto home = Currency::create().value();
  std::set<std::uint64_t> all;
  for (std::size_t i = 0; i < Currency::kWords; ++i) all.insert(home->issue());
  EXPECT_EQ(all.size(), Currency::kWords);
  EXPECT_FALSE(all.contains(0));
  EXPECT_EQ(home->issue(), 0);
  home->end(*all.begin());
  EXPECT_NE(home->issue(), 0);
}

TEST(Currency, NothingHoldsOfAHomeThatWasKilled) {
  // The child is the home, and this process has its words by way of the memory they share.
  int pair[2] = {};
  ASSERT_EQ(::pipe(pair), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto home = Currency::create();
    const auto shared = (*home)->share();
    const std::uint64_t said[3] = {(*home)->issue(),
                                   static_cast<std::uint64_t>(shared->words.get()),
                                   static_cast<std::uint64_t>(shared->life.get())};
    if (::write(pair[1], said, sizeof said) != sizeof said) ::_exit(1);
    for (;;) ::pause();
  }
  std::uint64_t said[3] = {};
  ASSERT_EQ(::read(pair[0], said, sizeof said), static_cast<ssize_t>(sizeof said));
  const auto file = [&](std::uint64_t fd) {
    return fabric::Fd(
        ::open(("/proc/" + std::to_string(child) + "/fd/" + std::to_string(fd)).c_str(), O_RDONLY));
  };
  const HomeCurrency peer = HomeCurrency::open(file(said[1]), file(said[2])).value();
  EXPECT_TRUE(peer.holds(said[0]));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(peer.holds(said[0]));
  ::close(pair[0]);
  ::close(pair[1]);
}

Handle handle_of(std::uint8_t object) {
  Handle handle;
  handle.object.bytes[0] = object;
  handle.size = 100;
  handle.mac = 5;
  return handle;
}

Whereabouts place_of(const Handle& handle, std::uint64_t ticket) {
  return {.proof = proof_of(handle), .segment = 7, .offset = 64, .ticket = ticket};
}

TEST(Currency, WhatIsShownIsFoundByItsVeryHandleWhileItsTicketHolds) {
  const auto home = Currency::create().value();
  const HomeCurrency peer = opened(*home);
  const Handle handle = handle_of(7);
  const Whereabouts place = place_of(handle, home->issue());
  EXPECT_FALSE(peer.find(handle)) << "nothing is shown yet";
  EXPECT_FALSE(peer.find(Handle{})) << "nor is anything in memory that nobody wrote";
  home->show(handle.object, place);
  const auto found = peer.find(handle);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->segment, place.segment);
  EXPECT_EQ(found->offset, place.offset);
  EXPECT_EQ(found->ticket, place.ticket);
  Handle forged = handle;
  forged.mac ^= 1;
  EXPECT_FALSE(peer.find(forged));
  forged = handle;
  forged.rights = Rights::all;
  EXPECT_FALSE(peer.find(forged));
  home->end(place.ticket);
  EXPECT_FALSE(peer.find(handle));
}

// Ids that begin alike fall into one row.
TEST(Currency, ObjectsThatFallTogetherTakeThePlacesFromEachOther) {
  const auto home = Currency::create().value();
  const HomeCurrency peer = opened(*home);
  std::vector<Handle> handles;
  std::vector<std::uint64_t> tickets;
  const auto show_one_more = [&] {
    Handle& handle = handles.emplace_back(handle_of(1));
    handle.object.bytes[15] = static_cast<std::uint8_t>(handles.size());
    home->show(handle.object, place_of(handle, tickets.emplace_back(home->issue())));
  };
  const auto found = [&] {
    return std::ranges::count_if(handles,
                                 [&](const Handle& one) { return peer.find(one).has_value(); });
  };
  for (std::size_t i = 0; i < Currency::kPlacesOfRow; ++i) show_one_more();
  EXPECT_EQ(found(), 4);
  show_one_more();
  EXPECT_EQ(found(), 4) << "one had to go";
  EXPECT_TRUE(peer.find(handles.back()));
  for (const std::uint64_t ticket : tickets) home->end(ticket);
  EXPECT_EQ(found(), 0);
  for (std::size_t i = 0; i < Currency::kPlacesOfRow; ++i) show_one_more();
  EXPECT_EQ(found(), 4) << "what is over takes no place";
  home->show(handles.back().object, place_of(handles.back(), tickets.back()));
  EXPECT_EQ(found(), 4) << "nor does one that is shown twice";
}

// Each place says the same thing in all its parts.
TEST(Currency, NobodyFindsHalfOfAPlace) {
  const auto home = Currency::create().value();
  const HomeCurrency peer = opened(*home);
  const std::uint64_t ticket = home->issue();
  const Handle handle = handle_of(3);
  const std::uint64_t proof = proof_of(handle);
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (std::uint64_t writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] {
      for (std::uint64_t i = writer; !done; i += 2) {
        home->show(handle.object, {.proof = proof, .segment = i, .offset = i, .ticket = ticket});
      }
    });
  }
  std::size_t found = 0;
  std::size_t torn = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (found < 10'000 && std::chrono::steady_clock::now() < until) {
    const auto place = peer.find(handle);
    if (!place) continue;
    ++found;
    if (place->segment != place->offset) ++torn;
  }
  done = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_GT(found, 0U);
  EXPECT_EQ(torn, 0U);
}

class ViewCacheTest : public testing::Test {
 protected:
  static Handle handle(std::uint64_t number, std::uint64_t home = 1) {
    Handle made;
    std::memcpy(made.object.bytes.data(), &number, sizeof number);
    made.home = home;
    return made;
  }
  std::shared_ptr<const View> add(const Handle& of, std::size_t bytes = 10,
                                  std::chrono::steady_clock::time_point until = {}) {
    const auto memory = std::make_shared<const std::vector<std::byte>>(bytes);
    auto view = std::make_shared<const View>(View{of, 1, *memory, Path::mapping, memory});
    cache_.add(of, view, {currency_, ticket_, until});
    return view;
  }

  const std::unique_ptr<Currency> home_ = Currency::create().value();
  const std::uint64_t ticket_ = home_->issue();
  const std::shared_ptr<const HomeCurrency> currency_ =
      std::make_shared<const HomeCurrency>(opened(*home_));
  ViewCache cache_;
};

TEST_F(ViewCacheTest, GivesOutWhatTheHomeVouchesFor) {
  const auto view = add(handle(1));
  EXPECT_EQ(cache_.find(handle(1)), view);
  EXPECT_EQ(cache_.find(handle(2)), nullptr);
  Handle forged = handle(1);
  forged.mac = 7;
  EXPECT_EQ(cache_.find(forged), nullptr);
  home_->end(ticket_);
  EXPECT_EQ(cache_.find(handle(1)), nullptr);
}

TEST_F(ViewCacheTest, ALeaseEndsWithoutTheHome) {
  add(handle(1), 10, std::chrono::steady_clock::now() - std::chrono::nanoseconds(1));
  EXPECT_EQ(cache_.find(handle(1)), nullptr);
}

TEST_F(ViewCacheTest, SmallOnesStayForAMomentAndLargeOnesWhileTheyAreUsed) {
  std::weak_ptr<const View> small = add(handle(1));
  auto large = add(handle(2), ViewCache::kManyBytes);
  EXPECT_NE(cache_.find(handle(1)), nullptr) << "nobody else has it";
  EXPECT_TRUE(cache_.sweep());
  EXPECT_NE(cache_.find(handle(1)), nullptr);
  EXPECT_TRUE(cache_.sweep());
  EXPECT_TRUE(cache_.sweep());
  EXPECT_TRUE(small.expired()) << "not used since the last sweep";
  EXPECT_EQ(cache_.find(handle(2)), large);
  large.reset();
  EXPECT_EQ(cache_.find(handle(2)), nullptr);
  EXPECT_TRUE(cache_.sweep()) << "that it was asked for again is remembered";
  EXPECT_FALSE(cache_.sweep());
}

TEST_F(ViewCacheTest, LargeOnesThatAreAskedForAgainStayAsSmallOnes) {
  add(handle(1), ViewCache::kManyBytes);
  EXPECT_EQ(cache_.find(handle(1)), nullptr) << "nobody has it";
  const std::weak_ptr<const View> again = add(handle(1), ViewCache::kManyBytes);
  EXPECT_NE(cache_.find(handle(1)), nullptr);
  EXPECT_TRUE(cache_.sweep());
  EXPECT_FALSE(again.expired());
  EXPECT_FALSE(cache_.sweep());
  EXPECT_TRUE(again.expired());
  add(handle(2));
  cache_.drop(handle(2));
  EXPECT_EQ(cache_.find(handle(2)), nullptr);
}

TEST_F(ViewCacheTest, HasALimitAndForgetsHomes) {
  for (std::uint64_t i = 0; i < 4 * ViewCache::kMaxViews; ++i) {
    add(handle(i * 0x9E37'79B9'7F4A'7C15U, 1 + i % 2));
  }
  std::size_t kept = 0;
  const auto count = [&] {
    kept = 0;
    for (std::uint64_t i = 0; i < 4 * ViewCache::kMaxViews; ++i) {
      kept += cache_.find(handle(i * 0x9E37'79B9'7F4A'7C15U, 1 + i % 2)) != nullptr ? 1 : 0;
    }
    return kept;
  };
  EXPECT_LE(count(), ViewCache::kMaxViews);
  EXPECT_GT(kept, ViewCache::kMaxViews / 2);
  cache_.forget(NodeId{1});
  EXPECT_LT(count(), ViewCache::kMaxViews);
  cache_.forget(NodeId{2});
  EXPECT_EQ(count(), 0);
}

}  // namespace
}  // namespace godwit::ref
