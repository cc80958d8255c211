// A Result<Sample> as bytes, for pipes between the processes of a measurement.
#pragma once

#include <type_traits>

#include "floors/sample.hpp"
#include "godwit/error.hpp"

namespace godwit::floors {

struct Report {
  Sample sample;
  ErrorCode code = ErrorCode::none;
  char message[512] = {};  // a longer one is cut

  [[nodiscard]] static Report of(const Result<Sample>& result);
  [[nodiscard]] Result<Sample> result() const;
};
static_assert(std::is_trivially_copyable_v<Report>);

}  // namespace godwit::floors
