// Functions that keep and break promises, and publish versions, in whole fleets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "node/ref_calls_for_test.hpp"

namespace godwit::node {
namespace {

using RefSettling = RefCalls;

TEST_P(RefSettling, AFunctionKeepsAPromiseForAllWhoWait) {
  const auto values = numbers(5'000);
  const auto sum = function<std::uint64_t(Span)>("sum");
  for (const char* name : {"keep", "keep_inline"}) {
    const auto keep = function<std::uint64_t(Numbers, Span)>(name);
    auto promise = good(Promise<std::uint64_t[]>::make(fleet_.node(1)));
    auto waits = sum.on(fleet_.node(0))(promise.ref());
    EXPECT_EQ(value_of(keep.on(fleet_.node(1))(promise.ref(), values).get()), 0U);
    EXPECT_EQ(value_of(waits.get()), total(values)) << name;
    EXPECT_EQ((*good(promise.ref().wait(seconds(20)))).size(), values.size());
    EXPECT_EQ(value_of(keep.on(fleet_.node(1))(promise.ref(), values).get()),
              static_cast<std::uint64_t>(ErrorCode::already_exists));
    EXPECT_EQ(promise.set(values).error().code, ErrorCode::already_exists);
  }
}

TEST_P(RefSettling, AFunctionKeepsAPromiseOfAnotherHome) {
  const auto keep = function<std::uint64_t(Numbers, Span)>("keep");
  const auto keep_inline = function<std::uint64_t(Numbers, Span)>("keep_inline");
  for (const std::size_t count : {0, 10, 100'000}) {
    const auto values = numbers(count);
    auto promise = good(Promise<std::uint64_t[]>::make(fleet_.node(1)));
    EXPECT_EQ(value_of(keep_inline.on(fleet_.node(0))(promise.ref(), values).get()),
              static_cast<std::uint64_t>(ErrorCode::would_block));
    const Numbers ref = promise.hand_over();
    EXPECT_EQ(value_of(keep.on(fleet_.node(0))(ref, values).get()), 0U);
    const auto all = good(ref.wait(seconds(20)));
    EXPECT_TRUE(std::ranges::equal(*all, values));
  }
}

TEST_P(RefSettling, AFunctionBreaksAPromiseAndSaysWhy) {
  const auto give_up = function<std::uint64_t(Numbers, std::string_view)>("give_up");
  for (const auto& node : fleet_.nodes()) {
    auto promise = good(Promise<std::uint64_t[]>::make(fleet_.node(1)));
    EXPECT_EQ(value_of(give_up.on(node)(promise.ref(), "clouds over the telescope").get()), 0U);
    const auto waited = promise.ref().wait(seconds(20));
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ErrorCode::io);
    EXPECT_NE(waited.error().message.find("clouds over the telescope"), std::string::npos);
  }
}

TEST_P(RefSettling, AFunctionPublishesTheNextVersion) {
  const auto add = function<Numbers(Numbers, std::uint64_t)>("add_to_all");
  const auto values = numbers(20'000);
  for (const auto& node : fleet_.nodes()) {
    const auto first = good(fleet_.node(1).put(values));
    const auto added = add.on(node)(first, 7).get();
    ASSERT_TRUE(added) << to_string(added.error());
    const Numbers second = *added;
    EXPECT_EQ(second.handle().version, first.handle().version + 1);
    EXPECT_EQ((*second)[0], values[0] + 7);
    EXPECT_EQ((*second)[19'999], values[19'999] + 7);
    expect_failure(add.on(node)(first, 7).get(), ErrorCode::stale);
  }
}

TEST_P(RefSettling, WhatIsNoPromiseOrOfAnotherTypeIsRefused) {
  const auto keep = function<std::uint64_t(Numbers, Span)>("keep");
  const auto keep_double = function<std::uint64_t(HandleOf<double>, double)>("keep_double");
  const auto values = numbers(10);
  auto handle = good(fleet_.node(1).put(values)).handle();
  for (const auto& node : fleet_.nodes()) {
    EXPECT_EQ(value_of(keep.on(node)(Numbers::from(fleet_, handle).value(), values).get()),
              static_cast<std::uint64_t>(ErrorCode::already_exists));
    HandleOf<double> disguised;
    static_assert(sizeof disguised == sizeof handle);
    std::memcpy(static_cast<void*>(&disguised), &handle, sizeof handle);
    EXPECT_EQ(value_of(keep_double.on(node)(disguised, 1.5).get()),
              static_cast<std::uint64_t>(ErrorCode::type_mismatch));
    Handle forged = handle;
    forged.mac ^= 1;
    EXPECT_EQ(value_of(keep.on(node)(Numbers::from(fleet_, forged).value(), values).get()),
              static_cast<std::uint64_t>(ErrorCode::permission));
  }
}

INSTANTIATE_TEST_SUITE_P(Fleets, RefSettling,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
