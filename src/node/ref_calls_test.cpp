// References as arguments and results of calls, in whole fleets.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "node/ref_calls_for_test.hpp"

namespace godwit::node {
namespace {

TEST_P(RefCalls, ASpanParameterTakesARefAnywhere) {
  const auto sum = function<std::uint64_t(Span)>("sum");
  const auto at_once = function<std::uint64_t(Span)>("sum_inline");
  for (const std::size_t count : {0, 1, 1'000, 100'000}) {
    const auto values = numbers(count);
    const auto ref = good(fleet_.node(1).put(values));
    for (const auto& node : fleet_.nodes()) {
      EXPECT_EQ(value_of(sum.on(node)(ref).get()), total(values)) << count << node.name();
      EXPECT_EQ(value_of(at_once.on(node)(ref).get()), total(values)) << count << node.name();
    }
    EXPECT_FALSE(ref.is_resolved()) << "the bytes need not come here";
    good(ref.evict());
  }
}

TEST_P(RefCalls, RefsAndValuesStandBesideEachOther) {
  const auto mix = function<std::uint64_t(std::string_view, Span, std::uint64_t, Span,
                                          std::span<const std::byte>)>("mix");
  const auto here = numbers(3'000);
  const auto there = numbers(50'000);
  const auto first = good(fleet_.node(0).put(here));
  const auto second = good(fleet_.node(1).put(there));
  const std::vector<std::byte> rest(9'000);
  const std::uint64_t expected = 4 + total(here) + 3 * total(there) + rest.size();
  EXPECT_EQ(value_of(mix.on(fleet_.node(0))("name", first, 3, second, rest).get()), expected);
  EXPECT_EQ(value_of(mix.on(fleet_.node(1))("name", here, 3, second, rest).get()), expected);
  EXPECT_EQ(value_of(mix.on(fleet_.node(1))("name", here, 3, there, rest).get()), expected);
}

TEST_P(RefCalls, WithoutANodeACallRunsAtTheHomeOfItsFirstRef) {
  const auto address_of = function<std::uint64_t(Span)>("address_of");
  const auto ref = good(fleet_.node(1).put(numbers(1'000)));
  const auto first = value_of(address_of(ref).get());
  EXPECT_EQ(first, value_of(address_of(ref).get())) << "it was copied";
  EXPECT_EQ(first, value_of(address_of.on(ref.node()).within(seconds(5))(ref).get()));
  static_assert(std::is_invocable_v<decltype(address_of), Numbers>);
  static_assert(!std::is_invocable_v<decltype(address_of), std::vector<std::uint64_t>>,
                "nobody has said where");
  static_assert(!std::is_invocable_v<decltype(address_of), Ref<double[]>>, "another type");
}

TEST_P(RefCalls, AFunctionResolvesTheHandlesThatItIsGiven) {
  const auto sum_of = function<std::uint64_t(Numbers)>("sum_of");
  const auto same = function<std::uint64_t(HandleOf<std::uint64_t[]>)>("sum_of");
  for (const std::size_t count : {0, 10, 100'000}) {
    const auto values = numbers(count);
    const auto ref = good(fleet_.node(1).put(values));
    EXPECT_EQ(value_of(sum_of.on(fleet_.node(0))(ref).get()), total(values));
    EXPECT_EQ(value_of(sum_of.on(fleet_.node(1))(ref).get()), total(values));
    EXPECT_EQ(value_of(same.on(fleet_.node(0))(ref).get()), total(values));
    EXPECT_EQ(value_of(sum_of(ref).get()), total(values));
  }
  const auto height = function<double(Ref<Point>)>("height");
  const auto point = good(fleet_.node(0).put(Point{1.5, 2.5}));
  EXPECT_EQ(value_of(height.on(fleet_.node(1))(point).get()), 2.5);
}

TEST_P(RefCalls, AnInlineFunctionResolvesOnlyWhatIsAtHand) {
  const auto sum_of = function<std::uint64_t(Numbers)>("sum_of_inline");
  const auto values = numbers(1'000);
  const auto ref = good(fleet_.node(1).put(values));
  EXPECT_EQ(value_of(sum_of(ref).get()), total(values));
  expect_failure(sum_of.on(fleet_.node(0))(ref).get(), ErrorCode::would_block, "inline_");
}

TEST_P(RefCalls, AResultMayBeARefToWhatTheFunctionMade) {
  const auto doubled = function<Numbers(Span)>("doubled");
  const auto values = numbers(20'000);
  const auto ref = good(fleet_.node(1).put(values));
  auto made = doubled(ref).get();
  ASSERT_TRUE(made) << to_string(made.error());
  const Numbers twice = *made;
  EXPECT_EQ(twice.home(), fleet_.node(1).id());
  ASSERT_EQ((*twice).size(), values.size());
  EXPECT_EQ((*twice)[19'999], 2 * values.back());

  const auto sum = function<std::uint64_t(Span)>("sum");
  EXPECT_EQ(value_of(sum(twice).get()), 2 * total(values)) << "and be passed on";
  auto later = doubled(ref).then([&](Outcome<Numbers> next) { return next->handle().size; });
  EXPECT_EQ(value_of(later.get()), values.size() * 8);
}

TEST_P(RefCalls, AFunctionSaysHowLongWhatItMakesLives) {
  const auto make = function<Ref<Point>(double, double)>("point");
  auto made = make.on(fleet_.node(0))(1.0, 4.0).get();
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(good(made->status()).readers_left, 1);
  EXPECT_EQ((*made)->y, 4.0);
  made->forget();
  EXPECT_TRUE(eventually([&] { return !good(made->exists()); })) << "one reader was enough";
}

TEST_P(RefCalls, AnObjectThatIsGoneEndsTheCallBeforeItBegins) {
  const auto sum = function<std::uint64_t(Span)>("sum");
  const auto sum_of = function<std::uint64_t(Numbers)>("sum_of");
  const auto ref = good(fleet_.node(1).put(numbers(1'000)));
  good(ref.evict());
  for (const auto& node : fleet_.nodes()) {
    const auto outcome = sum.on(node)(ref).get();
    expect_failure(outcome, ErrorCode::not_found, "argument 1");
    EXPECT_EQ(outcome.ending(), Ending::rejected);
    EXPECT_FALSE(outcome.error().may_have_started);
    EXPECT_NE(outcome.error().message.find(ref.handle().object.short_hex()), std::string::npos);
    const auto inside = sum_of.on(node)(ref).get();
    expect_failure(inside, ErrorCode::not_found, ref.handle().object.short_hex());
    EXPECT_EQ(inside.ending(), Ending::app_error);
  }
  const auto code = function<std::int32_t(Numbers)>("try_sum_of");
  EXPECT_EQ(value_of(code(ref).get()), static_cast<std::int32_t>(ErrorCode::not_found));
}

TEST_P(RefCalls, AnObjectOfAnotherTypeIsRefused) {
  expect_error(code_.function<std::uint64_t(Ref<double[]>)>("sum_of"), ErrorCode::type_mismatch,
               "ref<list<f64>>");
  const auto ref = good(fleet_.node(1).put(numbers(1'000)));
  expect_error(Ref<double[]>::from(fleet_, ref.handle()), ErrorCode::type_mismatch);
  // Behind the back of the type system.
  const auto disguised = function<Ref<double[]>(Numbers)>("disguised");
  expect_failure(disguised(ref).get(), ErrorCode::type_mismatch, "list<f64>");
  const auto handle = function<HandleOf<double[]>(Numbers)>("disguised");
  const auto doubles = function<double(HandleOf<double[]>)>("sum_of_doubles");
  auto forged = value_of(handle(ref).get());
  for (const auto& node : fleet_.nodes()) {
    expect_failure(doubles.on(node)(forged).get(), ErrorCode::type_mismatch, "list<f64>");
  }
  const auto real = good(fleet_.node(1).put(std::vector<double>{1, 2}));
  forged.type = real.handle().type;
  for (const auto& node : fleet_.nodes()) {
    expect_failure(doubles.on(node)(forged).get(), ErrorCode::permission, "forged");
  }
}

TEST_P(RefCalls, AHomeThatDiesEndsTheCallsThatNeedIt) {
  const auto sum = function<std::uint64_t(Span)>("sum");
  const auto home = fleet_.node(1);
  const auto ref = good(home.put(numbers(500'000)));
  std::vector<Future<std::uint64_t>> under_way;
  for (int i = 0; i < 8; ++i) under_way.push_back(sum.on(fleet_.node(0))(ref));
  good(fleet_.kill(home));
  for (auto& call : under_way) {
    const auto outcome = call.get();  // in time or not, but never hanging or wrong
    if (outcome) {
      EXPECT_EQ(*outcome, total(numbers(500'000)));
    }
  }
  const auto later = sum.on(fleet_.node(0)).within(seconds(20))(ref).get();
  ASSERT_FALSE(later);
  EXPECT_TRUE(later.error().reason == ErrorCode::node_lost ||
              later.error().reason == ErrorCode::unreachable)
      << to_string(later.error());
  EXPECT_EQ(later.ending(), Ending::rejected);
  EXPECT_FALSE(later.error().may_have_started);
  const auto at_home = sum(ref).get();
  EXPECT_EQ(at_home.ending(), Ending::node_lost);
}

TEST_P(RefCalls, ManyCallsShareOneObject) {
  const auto sum = function<std::uint64_t(Span)>("sum");
  const auto values = numbers(30'000);
  const auto ref = good(fleet_.node(0).put(values));
  std::vector<Future<std::uint64_t>> calls;
  for (int i = 0; i < 200; ++i) calls.push_back(sum.on(fleet_.node(i % 2 == 0 ? 0 : 1))(ref));
  for (auto& call : calls) EXPECT_EQ(value_of(call.get()), total(values));
  EXPECT_TRUE(eventually([&] { return good(ref.status()).pins == 0; })) << "all let go of it";
}

TEST_P(RefCalls, ACallGoesOnToWhereItsArgumentIs) {
  const auto sum = function<std::uint64_t(Numbers)>("sum_at_home");
  const auto values = numbers(30'000);
  const auto ref = good(fleet_.node(1).put(values));
  EXPECT_EQ(value_of(sum.on(fleet_.node(0))(ref).get()), total(values));
}

TEST_P(RefCalls, CallsWaitForAPromisedArgumentWithoutAWorkerOrACredit) {
  constexpr int kMany = 400;  // more than a node has workers, or a link credits
  const auto sum = function<std::uint64_t(Span)>("sum");
  const auto values = numbers(30'000);
  auto promise = good(Promise<std::uint64_t[]>::make(fleet_.node(1)));
  std::vector<Future<std::uint64_t>> calls;
  for (int i = 0; i < kMany; ++i) {
    calls.push_back(sum.on(fleet_.node(i % 2 == 0 ? 0 : 1))(promise.ref()));
  }
  const auto here = numbers(10);
  for (const auto& node : fleet_.nodes()) {
    EXPECT_EQ(value_of(sum.on(node).within(seconds(20))(here).get()), total(here));
  }
  for (const auto& call : calls) EXPECT_FALSE(call.ready());
  const Numbers kept = good(promise.set(values));
  for (auto& call : calls) EXPECT_EQ(value_of(call.get()), total(values));
  EXPECT_TRUE(eventually([&] { return good(kept.status()).pins == 0; })) << "all let go of it";
}

TEST_P(RefCalls, APromiseStandsBesideOtherArgumentsThatAreThere) {
  const auto mix = function<std::uint64_t(std::string_view, Span, std::uint64_t, Span,
                                          std::span<const std::byte>)>("mix");
  const auto values = numbers(3'000);
  const std::vector<std::byte> rest(40'000);  // more than a call without a credit may have
  for (const auto& node : fleet_.nodes()) {
    auto first = good(Promise<std::uint64_t[]>::make(fleet_.node(0)));
    auto second = good(Promise<std::uint64_t[]>::make(fleet_.node(1)));
    auto call = mix.on(node)("name", first.ref(), 3, second.ref(), rest);
    good(second.set(values));
    good(first.set(values));
    EXPECT_EQ(value_of(call.get()), 4 + 4 * total(values) + rest.size());
  }
}

TEST_P(RefCalls, ABrokenPromiseEndsTheCallsThatWaitForIt) {
  const auto sum = function<std::uint64_t(Span)>("sum");
  for (const auto& node : fleet_.nodes()) {
    auto promise = good(Promise<std::uint64_t[]>::make(fleet_.node(1)));
    auto call = sum.on(node)(promise.ref());
    good(promise.fail(ErrorCode::io, "the telescope is cloudy"));
    const auto outcome = call.get();
    expect_failure(outcome, ErrorCode::io, "the telescope is cloudy");
    EXPECT_EQ(outcome.ending(), Ending::rejected);
    EXPECT_FALSE(outcome.error().may_have_started);
    EXPECT_NE(outcome.error().message.find("argument 1"), std::string::npos);
  }
}

TEST_P(RefCalls, ACallThatWaitsForAPromiseHasADeadlineAndCanBeGivenUp) {
  const auto sum = function<std::uint64_t(Span)>("sum");
  auto promise = good(Promise<std::uint64_t[]>::make(fleet_.node(1)));
  for (const auto& node : fleet_.nodes()) {
    const auto late = sum.on(node).within(std::chrono::milliseconds(50))(promise.ref()).get();
    // Whoever looks at the clock first says so: the caller, or the node that waited for the object.
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().reason, ErrorCode::deadline) << to_string(late.error());
    auto call = sum.on(node)(promise.ref());
    call.cancel();
    EXPECT_EQ(call.get().ending(), Ending::cancelled);
  }
  const auto values = numbers(10);
  const auto kept = good(promise.set(values));
  EXPECT_EQ(value_of(sum.on(fleet_.node(0))(kept).get()), total(values));
}

TEST_P(RefCalls, AHomeThatDiesEndsTheCallsThatWaitForItsPromises) {
  const auto sum = function<std::uint64_t(Span)>("sum");
  auto promise = good(Promise<std::uint64_t[]>::make(fleet_.node(1)));
  std::vector<Future<std::uint64_t>> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(sum.on(fleet_.node(0))(promise.ref()));
  ASSERT_TRUE(eventually([&] { return waiting_for_objects(fleet_.node(1)) == 8; }));
  good(fleet_.kill(fleet_.node(1)));
  for (auto& call : calls) {
    const auto outcome = call.get();
    ASSERT_FALSE(outcome);
    EXPECT_TRUE(outcome.error().reason == ErrorCode::node_lost ||
                outcome.error().reason == ErrorCode::unreachable)
        << to_string(outcome.error());
    EXPECT_EQ(outcome.ending(), Ending::rejected);
    EXPECT_FALSE(outcome.error().may_have_started);
  }
}

// One of the homes is stopped: the other one is asked all the same.
TEST_P(RefCalls, ObjectsOfSeveralHomesAreFetchedAtTheSameTime) {
  Fleet fleet = local(3, options());
  const auto mix = function<std::uint64_t(std::string_view, Span, std::uint64_t, Span,
                                          std::span<const std::byte>)>("mix");
  const auto values = numbers(30'000);
  const std::vector<std::byte> rest;
  const std::uint64_t expected = 1 + 4 * total(values);
  const auto put = [&](std::size_t node) { return good(fleet.node(node).put(values)); };
  EXPECT_EQ(value_of(mix.on(fleet.node(0))("a", put(1), 3, put(2), rest).get()), expected);
  const auto first = put(1);
  const auto second = put(2);
  const auto pid = static_cast<pid_t>(status_of(fleet, fleet.node(1))["pid"].count());
  ASSERT_GT(pid, 0);
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  auto call = mix.on(fleet.node(0))("a", first, 3, second, rest);
  EXPECT_TRUE(eventually([&] { return good(second.status()).reads == 1; }))
      << "it waits for the first before it asks for the second";
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
  const auto outcome = call.get();  // over tcp, a silence of 2 s would have ended a link
  if (shm() || outcome) {
    EXPECT_EQ(value_of(outcome), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Fleets, RefCalls,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
