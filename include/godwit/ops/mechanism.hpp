// How an operation on a region gets at the elements.
#pragma once

#include <cstdint>

namespace godwit::ops {

enum class Mechanism : std::uint8_t {
  automatic,  // what costs least by measured figures (explain.hpp)
  direct,     // plain loads by the calling thread; unsupported if a shard is not mapped
  get,        // the elements are asked for, and looked at by the calling thread
  code,       // a call that travels to the elements
};

}  // namespace godwit::ops
