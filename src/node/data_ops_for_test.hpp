// What the tests of reduction, movement and update share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "node/region_for_test.hpp"

namespace godwit::node {

inline constexpr auto kBad = ErrorCode::invalid_argument;

inline void expect_names(const Failure& failure, std::string_view text) {
  EXPECT_NE(failure.message.find(text), std::string::npos) << to_string(failure);
}

// Refused before anything happened.
inline void expect_refused(const Failure& failure, ErrorCode reason, std::string_view text) {
  EXPECT_EQ(failure.ending, Ending::rejected) << to_string(failure);
  EXPECT_EQ(failure.reason, reason) << to_string(failure);
  EXPECT_FALSE(failure.may_have_started) << to_string(failure);
  expect_names(failure, text);
}

template <class Signature>
Function<Signature> own(std::string_view name) {
  auto function = kernels(GODWIT_TEST_DATA_OPS_BUNDLE).function<Signature>(name);
  if (!function) ADD_FAILURE() << function.error().message;
  return *function;
}

// Runs f(0) to f(count - 1), each in a thread, and waits for them.
template <class F>
void in_threads(int count, F f) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&f, i] { f(i); });
}

}  // namespace godwit::node
