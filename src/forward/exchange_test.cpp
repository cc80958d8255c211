#include <gtest/gtest.h>
#include "godwit/exchange.hpp"
TEST(Exchange, X) {
  struct P { int left; int id; };
  std::atomic<int> total = 0;
  auto ok = godwit::run_ranks(3, [&](godwit::Group& group) -> godwit::Status {
    auto ex = godwit::Exchange<P>::create(group);
    if (!ex) return tl::unexpected(ex.error());
    for (int i = 0; i < 1000; ++i) ex->emit(P{i % 7, i}, i % 3);
    auto r = ex->run([&](const P& p, auto& out) { ++total; if (p.left > 0) out.emit(P{p.left - 1, p.id}, (p.id + p.left) % 3); });
    if (!r) return tl::unexpected(r.error());
    return {};
  });
  ASSERT_TRUE(ok) << ok.error().message;
  EXPECT_EQ(total, 3 * (142 * 28 + 1+2+3+4+5+6 ));
}
