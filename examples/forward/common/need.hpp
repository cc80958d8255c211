// Errors as exceptions: run_ranks() makes them the error of their rank, and main() prints it.
#pragma once

#include <stdexcept>
#include <utility>

#include "godwit/error.hpp"

namespace gallery {

template <class T>
T need(godwit::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace gallery
