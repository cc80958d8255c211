#include "floors/report.hpp"

#include <algorithm>
#include <cstring>

namespace godwit::floors {

Report Report::of(const Result<Sample>& result) {
  Report report;
  if (result) {
    report.sample = *result;
    return report;
  }
  report.code = result.error().code;
  const std::string& text = result.error().message;
  std::memcpy(report.message, text.data(), std::min(text.size(), sizeof report.message - 1));
  return report;
}

Result<Sample> Report::result() const {
  if (code == ErrorCode::none) return sample;
  return tl::unexpected(Error{code, message});
}

}  // namespace godwit::floors
