// What the tests of testdata/mobile_ops.cpp share.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "node/data_ops_for_test.hpp"

namespace godwit::node {

template <class Signature>
Function<Signature> mobile(std::string_view name) {
  auto function = kernels(GODWIT_TEST_MOBILE_OPS_BUNDLE).function<Signature>(name);
  if (!function) ADD_FAILURE() << function.error().message;
  return *function;
}

// What a function that let a failure of an operation escape ended in.
inline void expect_passed_on(const Failure& failure, ErrorCode reason, std::string_view text) {
  EXPECT_EQ(failure.ending, Ending::app_error) << to_string(failure);
  EXPECT_EQ(failure.reason, reason) << to_string(failure);
  expect_names(failure, text);
}

}  // namespace godwit::node
