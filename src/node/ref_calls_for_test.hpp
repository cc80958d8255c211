// What tests of calls that take, resolve and make objects share.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/object_for_test.hpp"

namespace godwit::node {

using std::chrono::seconds;
using Numbers = Ref<std::uint64_t[]>;
using Span = std::span<const std::uint64_t>;

template <class R>
void expect_failure(const Outcome<R>& outcome, ErrorCode code, std::string_view part = {}) {
  ASSERT_FALSE(outcome);
  EXPECT_EQ(to_string(outcome.error().reason), to_string(code)) << to_string(outcome.error());
  EXPECT_NE(outcome.error().message.find(part), std::string::npos) << to_string(outcome.error());
}

class RefCalls : public ObjectFleet {
 protected:
  template <class Signature>
  [[nodiscard]] Function<Signature> function(const char* name) const {
    return good(code_.function<Signature>(name));
  }

  // Who waits for objects of that node; 0 when it has been asked too often for the moment.
  [[nodiscard]] std::uint64_t waiting_for_objects(const NodeHandle& node) const {
    const auto text = fleet_.status(node);
    const auto status = trace::JsonValue::parse(text ? *text : "{}");
    return status ? (*status)["objects"]["waiters"].count() : 0;
  }

  Bundle code_ = kernels();
};

}  // namespace godwit::node
