// What tests of graphs in fleets share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <utility>

#include "data/graph_builder.hpp"
#include "generate/rmat.hpp"
#include "generate/university.hpp"
#include "godwit/godwit.hpp"

namespace godwit::graph {

inline Bundle code() {
  auto bundle = Bundle::open(GRAPH_CODE);
  if (!bundle) throw std::runtime_error(bundle.error().message);
  return *bundle;
}

template <class T>
T good(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);  // ends the test
  return *std::move(result);
}

inline Graph universities(std::uint32_t count) {
  GraphBuilder builder;
  EXPECT_TRUE(generate_universities({.universities = count}, builder));
  return std::move(builder).finish();
}

inline Graph rmat(std::uint32_t scale) {
  GraphBuilder builder;
  EXPECT_TRUE(generate_rmat({.scale = scale}, builder));
  return std::move(builder).finish();
}

inline std::string transport_name(const testing::TestParamInfo<LocalTransport>& parameter) {
  return parameter.param == LocalTransport::shm ? "shm" : "tcp";
}

}  // namespace godwit::graph
