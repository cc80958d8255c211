#include "ref/access/recent_views.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace godwit::ref {
namespace {

class RecentViewsTest : public testing::Test {
 protected:
  RecentViewsTest() {
    const Currency::Shared shared = home_->share().value();
    currency_ =
        std::make_shared<const HomeCurrency>(HomeCurrency::open(shared.words, shared.life).value());
  }
  // Puts one under a ticket of its own, which it returns.
  std::uint64_t add(std::uint64_t mac, std::chrono::steady_clock::time_point until = {}) {
    const std::uint64_t ticket = home_->issue();
    View view;
    view.handle = handle(mac);
    views_.add(std::make_shared<const View>(view),
               {.currency = currency_, .ticket = ticket, .until = until});
    return ticket;
  }
  static Handle handle(std::uint64_t mac) {
    Handle handle;
    handle.home = 7;
    handle.mac = mac;
    return handle;
  }
  bool has(std::uint64_t mac) { return views_.find(handle(mac)) != nullptr; }

  std::unique_ptr<Currency> home_ = Currency::create().value();
  std::shared_ptr<const HomeCurrency> currency_;
  RecentViews views_;
};

TEST_F(RecentViewsTest, FindsWhatItsHomeVouchesFor) {
  const std::uint64_t ticket = add(1);
  EXPECT_TRUE(has(1));
  EXPECT_FALSE(has(1 + RecentViews::kPlaces)) << "another one of the same place";
  home_->end(ticket);
  EXPECT_FALSE(has(1));
}

TEST_F(RecentViewsTest, ComparesTheWholeHandle) {
  add(1);
  Handle changed = handle(1);
  changed.version = 2;
  EXPECT_EQ(views_.find(changed), nullptr);
}

TEST_F(RecentViewsTest, ALeaseEndsByTheClock) {
  const auto now = std::chrono::steady_clock::now();
  add(1, now + std::chrono::hours(1));
  add(2, now);
  EXPECT_TRUE(has(1));
  EXPECT_FALSE(has(2));
}

TEST_F(RecentViewsTest, ALaterOneTakesThePlaceOfAnEarlier) {
  add(1);
  add(2);
  add(1 + RecentViews::kPlaces);
  EXPECT_FALSE(has(1));
  EXPECT_TRUE(has(2));
  EXPECT_TRUE(has(1 + RecentViews::kPlaces));
}

TEST_F(RecentViewsTest, LetsGoOfWhatIsNotUsed) {
  add(1);
  add(2);
  EXPECT_TRUE(views_.sweep());
  EXPECT_TRUE(has(2));
  EXPECT_TRUE(views_.sweep());
  EXPECT_FALSE(has(1));
  EXPECT_TRUE(has(2));
  views_.forget(NodeId{8});
  EXPECT_TRUE(has(2));
  views_.forget(NodeId{7});
  EXPECT_FALSE(has(2));
  EXPECT_FALSE(views_.sweep());
}

}  // namespace
}  // namespace godwit::ref
