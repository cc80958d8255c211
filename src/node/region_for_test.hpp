// What tests of regions in whole fleets share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "node/fleet_for_test.hpp"

namespace godwit::node {

// Of a test over several transports.
inline std::string name_of(const testing::TestParamInfo<LocalTransport>& transport) {
  return transport.param == LocalTransport::shm ? "Shm" : "Tcp";
}

template <class T>
Region<T> make_region(Fleet& fleet, std::string_view name, const RegionOptions& options) {
  auto region = Region<T>::create(fleet, name, options);
  if (!region) ADD_FAILURE() << region.error().message;
  return *std::move(region);
}

template <class R>
Failure failure_of(const Outcome<R>& outcome) {
  if (!outcome) return outcome.error();
  ADD_FAILURE() << "it went well";
  return {};
}

}  // namespace godwit::node
