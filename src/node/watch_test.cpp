// Functions that run when an element changes: thousands of them, and however they end.
#include <atomic>
#include <chrono>

#include "node/mobile_ops_for_test.hpp"

namespace godwit::node {
namespace {

using Words = std::span<const std::uint64_t>;
using React = std::uint64_t(ops::Element, std::uint64_t, std::uint64_t);
using ReactInline = std::uint64_t(ops::Element, std::uint64_t);

class Watch : public testing::TestWithParam<LocalTransport> {
 protected:
  Fleet fleet_ = local(3, {.transport = GetParam()});
  Region<std::uint64_t> words_ = make_region<std::uint64_t>(fleet_, "words", {.elements = 9'000});
  const Function<React> react_ = mobile<React>("react");
  const Function<ReactInline> react_inline_ = mobile<ReactInline>("react_inline");
};

TEST_P(Watch, TheFunctionRunsWhenTheElementChanges) {
  auto watch = ops::watch(words_, {.index = 4'000}, react_, 3);
  auto other = ops::watch(words_, {.index = 4'001}, react_inline_);
  ASSERT_TRUE(words_.put(3'999, 1).get());
  EXPECT_FALSE(watch.wait_for(std::chrono::milliseconds(50))) << "another element changed";
  ASSERT_TRUE(words_.put(4'000, 0).get());
  EXPECT_FALSE(watch.wait_for(std::chrono::milliseconds(20))) << "it was only stored again";
  ASSERT_TRUE(words_.put(4'000, 14).get());
  EXPECT_EQ(value_of(watch.get()), 42U);
  ASSERT_TRUE(ops::accumulate(words_, 4'001, ops::Join::add, 5).get());
  EXPECT_EQ(value_of(other.get()), 5U);
}

TEST_P(Watch, ItIsSentOnce) {
  const NodeHandle home = fleet_.find("n1").value();
  ASSERT_TRUE(ops::watch(words_, {.index = 4'000, .last_seen = 1}, react_inline_).get());
  const auto asked = [&] { return status_of(fleet_, home)["counters"]["need_code_sent"].number(); };
  const auto before = asked();
  for (std::uint64_t i = 0; i < 5; ++i) {
    auto watch = ops::watch(words_, {.index = 4'000, .last_seen = i}, react_inline_);
    EXPECT_FALSE(watch.wait_for(std::chrono::milliseconds(10)));
    ASSERT_TRUE(words_.put(4'000, i + 1).get());
    EXPECT_EQ(value_of(watch.get()), i + 1);
  }
  EXPECT_EQ(asked(), before) << "its code is there, and known when it wakes up";
}

TEST_P(Watch, AChangeOfThePastCounts) {
  ASSERT_TRUE(words_.put(8'000, 7).get());
  EXPECT_EQ(value_of(ops::watch(words_, {.index = 8'000}, react_, 2).get()), 14U);
  auto same = ops::watch(words_, {.index = 8'000, .last_seen = 7}, react_, 2);
  EXPECT_FALSE(same.wait_for(std::chrono::milliseconds(30)));
  ASSERT_TRUE(words_.put(8'000, 0).get());
  EXPECT_EQ(value_of(same.get()), 0U);
}

TEST_P(Watch, SmallElementsAreComparedWithTheirSign) {
  auto bytes = make_region<std::int8_t>(fleet_, "bytes", {.elements = 9});
  ASSERT_TRUE(bytes.put(5, -3).get());
  const auto react = mobile<std::int32_t(ops::Element, std::int8_t)>("react_small");
  auto watch = ops::watch(bytes, {.index = 5, .last_seen = -3}, react);
  EXPECT_FALSE(watch.wait_for(std::chrono::milliseconds(30)));
  ASSERT_TRUE(bytes.put(5, -4).get());
  EXPECT_EQ(value_of(watch.get()), -4);
}

TEST_P(Watch, ThousandsWaitAtANodeThatGoesOnServing) {
  constexpr std::uint64_t kWatches = 2'000;  // many times the credits of a link
  std::vector<Future<std::uint64_t>> watches;
  for (std::uint64_t i = 0; i < kWatches; ++i) {
    watches.push_back(ops::watch(words_, {.index = 3'000 + i}, react_inline_));
  }
  ASSERT_TRUE(words_.put(5'999, 1).get()) << "other calls need credits too";
  for (auto& watch : watches) EXPECT_FALSE(watch.ready());
  std::vector<std::uint64_t> indices;
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < kWatches; i += 2) {
    indices.push_back(3'000 + i);
    values.push_back(i + 1);
  }
  ASSERT_TRUE(ops::scatter_add(words_, indices, values).get());
  for (std::uint64_t i = 0; i < kWatches; i += 2) EXPECT_EQ(value_of(watches[i].get()), i + 1);
  for (std::uint64_t i = 1; i < kWatches; i += 2) EXPECT_FALSE(watches[i].ready());
}

TEST_P(Watch, EveryChangeOfAChainIsSeenOnceWhileOthersWrite) {
  in_threads(3, [&](int thread) {
    const auto index = static_cast<std::uint64_t>(thread) * 3'000;
    for (std::uint64_t seen = 0; seen < 40;) {
      auto watch = ops::watch(words_, {.index = index, .last_seen = seen}, react_inline_);
      ASSERT_TRUE(ops::accumulate(words_, index, ops::Join::add, 1).get());
      ASSERT_TRUE(ops::accumulate(words_, index + 1, ops::Join::add, 1).get());
      const std::uint64_t now = value_of(watch.get());
      ASSERT_EQ(now, seen + 1);
      seen = now;
    }
  });
}

TEST_P(Watch, AWriterThatHasNotReturnedIsNoticed) {
  const auto store = mobile<void(std::string_view, std::uint64_t, std::uint64_t)>("store_and_stay");
  auto watch = ops::watch(words_, {.index = 10}, react_inline_);
  auto writer = store.on(fleet_.node(0))("words", 10, 11);
  EXPECT_EQ(value_of(watch.get()), 1U);
  EXPECT_FALSE(writer.ready());
  ASSERT_TRUE(words_.put(11, 1).get());
  EXPECT_TRUE(writer.get());
}

TEST_P(Watch, ADeadlineACancelAndADropEndIt) {
  const auto late = ops::watch(words_, {.index = 4'000, .at_most_ms = 50}, react_, 1).get();
  EXPECT_EQ(failure_of(late).ending, Ending::deadline);
  expect_names(failure_of(late), "watch of element 4000 of region 'words'");
  auto cancelled = ops::watch(words_, {.index = 4'000}, react_, 1);
  cancelled.cancel();
  EXPECT_EQ(failure_of(cancelled.get()).ending, Ending::cancelled);
  static_cast<void>(ops::watch(words_, {.index = 4'000}, react_, 1));  // dropped with its future
  auto region = make_region<std::uint64_t>(fleet_, "short_lived", {.elements = 9});
  auto dropped = ops::watch(region, {.index = 4}, react_, 1);
  ASSERT_TRUE(region.put(3, 1).get()) << "it has been sent";
  ASSERT_TRUE(region.drop());
  const Failure gone = failure_of(dropped.get());
  EXPECT_EQ(gone.ending, Ending::rejected) << to_string(gone);
  EXPECT_EQ(gone.reason, ErrorCode::not_found) << to_string(gone);
  expect_names(gone, "watch of element 4 of region 'short_lived'");
}

TEST_P(Watch, TheLimitIsKeptAndWhatEndsMakesRoom) {
  constexpr std::size_t kLimit = 16'384;
  std::vector<Future<std::uint64_t>> watches;
  for (std::size_t i = 0; i < kLimit; ++i) {
    watches.push_back(ops::watch(words_, {.index = i % 3'000}, react_inline_));
  }
  ASSERT_TRUE(words_.put(2'999, 0).get());
  const Failure full = failure_of(ops::watch(words_, {.index = 1}, react_inline_).get());
  expect_refused(full, ErrorCode::resource_exhausted, "watch of element 1 of region 'words'");
  EXPECT_TRUE(ops::watch(words_, {.index = 1, .last_seen = 9}, react_inline_).get())
      << "what need not wait needs no room";
  const auto watching = [&] {
    return status_of(fleet_, fleet_.find("n0").value())["calls"]["watching"].count();
  };
  EXPECT_EQ(watching(), kLimit);
  watches.resize(kLimit - 10);
  EXPECT_TRUE(eventually([&] {
    auto again = ops::watch(words_, {.index = 2}, react_inline_);
    return !again.wait_for(std::chrono::milliseconds(20));
  }));
  watches.clear();
  auto never = ops::watch(words_, {.index = 4'000}, react_inline_);  // at another node
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(never.wait_for(std::chrono::milliseconds(100)));  // a status has its rate
    return watching() == 0;
  }));
}

TEST_P(Watch, ArgumentsThatMayLieThereForLongHaveALimit) {
  using Bytes = std::span<const std::byte>;
  const auto react = mobile<std::uint64_t(ops::Element, std::uint64_t, Bytes)>("react_bytes");
  const std::vector<std::byte> fits(16'000);
  const std::vector<std::byte> too_many(17'000);
  EXPECT_EQ(value_of(ops::watch(words_, {.index = 1, .last_seen = 1}, react, fits).get()), 16'000U);
  expect_refused(failure_of(ops::watch(words_, {.index = 1}, react, too_many).get()),
                 ErrorCode::too_large, "watch of element 1 of region 'words'");
}

TEST_P(Watch, AKilledNodeEndsItsWatchesAndNoOthers) {
  auto lost = ops::watch(words_, {.index = 4'000}, react_, 1);
  auto kept = ops::watch(words_, {.index = 8'000}, react_, 1);
  ASSERT_TRUE(words_.put(4'001, 1).get());
  ASSERT_TRUE(fleet_.kill(fleet_.find("n1").value()));
  const Failure failure = failure_of(lost.get());
  EXPECT_EQ(failure.ending, Ending::node_lost) << to_string(failure);
  expect_names(failure, "watch of element 4000 of region 'words'");
  EXPECT_EQ(failure_of(ops::watch(words_, {.index = 4'000}, react_, 1).get()).ending,
            Ending::node_lost);
  ASSERT_TRUE(words_.put(8'000, 6).get());
  EXPECT_EQ(value_of(kept.get()), 6U);
}

TEST_P(Watch, MobileCodeWatchesFromAnyNode) {
  const auto watch_from =
      mobile<std::uint64_t(std::string_view, std::uint64_t, std::uint64_t, std::uint64_t)>(
          "watch_from");
  for (std::size_t node = 0; node < 3; ++node) {
    auto watch = watch_from.on(fleet_.node(node))("words", 4'000, node, 5);
    EXPECT_FALSE(watch.wait_for(std::chrono::milliseconds(20)));
    ASSERT_TRUE(words_.put(4'000, node + 1).get());
    EXPECT_EQ(value_of(watch.get()), (node + 1) * 5);
  }
  expect_passed_on(failure_of(watch_from.on(fleet_.node(0))("words", 9'000, 0, 1).get()),
                   ErrorCode::invalid_argument, "watch of element 9000 of region 'words'");
}

TEST_P(Watch, ElementsThatAreNotThereAreRefused) {
  expect_refused(failure_of(ops::watch(words_, {.index = 9'000}, react_, 1).get()),
                 ErrorCode::invalid_argument, "watch of element 9000 of region 'words'");
}

INSTANTIATE_TEST_SUITE_P(Over, Watch, testing::Values(LocalTransport::shm, LocalTransport::tcp),
                         name_of);

}  // namespace
}  // namespace godwit::node
