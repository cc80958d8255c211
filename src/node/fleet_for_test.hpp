// What tests of whole fleets share: the bundle of testdata/kernels.cpp, and patience.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "code/bundle/renamed_for_test.hpp"
#include "godwit/godwit.hpp"
#include "trace/json_value.hpp"

namespace godwit::node {

struct Point {
  double x = 0;
  double y = 0;
};
GODWIT_STRUCT(Point, x, y);

inline Bundle kernels(const char* file = GODWIT_TEST_BUNDLE) {
  auto bundle = Bundle::open(file);
  if (!bundle) ADD_FAILURE() << bundle.error().message;
  return *bundle;
}

inline Fleet local(std::size_t count, LocalOptions options = {}) {
  auto fleet = Fleet::local(count, std::move(options));
  if (!fleet) ADD_FAILURE() << fleet.error().message;
  return *std::move(fleet);
}

// Polls until it holds; false if it does not within the time.
inline bool eventually(const std::function<bool()>& holds,
                       std::chrono::milliseconds at_most = std::chrono::seconds(10)) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

template <class R>
R value_of(Outcome<R> outcome) {
  if (!outcome) {
    ADD_FAILURE() << to_string(outcome.error());
    return {};
  }
  return *std::move(outcome);
}

// What a node says of itself, read. One that is asked too often is asked again a moment later.
inline trace::JsonValue status_of(const Fleet& fleet, const NodeHandle& node) {
  auto text = fleet.status(node);
  eventually([&] {
    if (text || text.error().code != ErrorCode::overload) return true;
    text = fleet.status(node);
    return false;
  });
  if (!text) {
    ADD_FAILURE() << text.error().message;
    return {};
  }
  auto read = trace::JsonValue::parse(*text);
  if (!read) {
    ADD_FAILURE() << read.error().message << "\n" << *text;
    return {};
  }
  return *std::move(read);
}

inline Bundle rename_bundle(const Bundle& original, std::string name) {
  auto bundle = code::renamed(original.code(), std::move(name));
  if (!bundle) ADD_FAILURE() << bundle.error().message;
  return Bundle(std::make_shared<const code::Bundle>(*std::move(bundle)));
}

using Add = std::uint64_t(std::uint64_t, std::uint64_t);

}  // namespace godwit::node
