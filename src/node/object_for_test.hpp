// What tests of objects in whole fleets share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "node/fleet_for_test.hpp"

namespace godwit::node {

inline std::vector<std::uint64_t> numbers(std::size_t count) {
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), std::uint64_t{7});
  return all;
}

inline std::uint64_t total(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

template <class T>
T good(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << to_string(result.error().code) << ": " << result.error().message;
    throw std::runtime_error("no value");
  }
  return *std::move(result);
}

inline void good(const Status& status) {
  EXPECT_TRUE(status) << to_string(status.error().code) << ": " << status.error().message;
}

template <class R>
void expect_error(const R& result, ErrorCode code, std::string_view part = {}) {
  ASSERT_FALSE(result);
  EXPECT_EQ(to_string(result.error().code), to_string(code)) << result.error().message;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

// Two nodes, once on this host's shared memory and once over tcp.
class ObjectFleet : public testing::TestWithParam<LocalTransport> {
 protected:
  static LocalOptions options() {
    LocalOptions options;
    options.transport = GetParam();
    return options;
  }
  [[nodiscard]] static bool shm() { return GetParam() == LocalTransport::shm; }

  Fleet fleet_ = local(2, options());
};

inline std::string transport_name(const testing::TestParamInfo<LocalTransport>& info) {
  return info.param == LocalTransport::shm ? "Shm" : "Tcp";
}

}  // namespace godwit::node
