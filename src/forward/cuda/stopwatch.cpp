#include "forward/cuda/stopwatch.hpp"

#include <algorithm>

#include "base/fail.hpp"

namespace godwit::cuda {
namespace {

constexpr const char* kTiming = "timing a kernel";
// A round that launches more has the rest untold.
constexpr std::size_t kMaxLaps = 64;

}  // namespace

Stopwatch::~Stopwatch() {
  for (const Lap& lap : laps_) {
    if (lap.begin != nullptr) cudaEventDestroy(lap.begin);
    if (lap.end != nullptr) cudaEventDestroy(lap.end);
  }
}

Status Stopwatch::start(cudaStream_t stream, std::uint64_t items) {
  if (!trace_.is_on() || used_ == kMaxLaps) return {};
  if (used_ == laps_.size()) {
    Lap& made = laps_.emplace_back();
    GODWIT_CHECK(check_cuda(cudaEventCreate(&made.begin), kTiming));
    GODWIT_CHECK(check_cuda(cudaEventCreate(&made.end), kTiming));
  }
  Lap& lap = laps_[used_];
  lap.launched = forward::PortTrace::now();
  lap.items = items;
  return check_cuda(cudaEventRecord(lap.begin, stream), kTiming);
}

Status Stopwatch::stop(cudaStream_t stream) {
  if (!trace_.is_on() || used_ == kMaxLaps) return {};
  return check_cuda(cudaEventRecord(laps_[used_++].end, stream), kTiming);
}

void Stopwatch::record(const char* what) {
  for (std::size_t i = 0; i < used_; ++i) {
    const Lap& lap = laps_[i];
    float ms = 0;
    if (cudaEventElapsedTime(&ms, lap.begin, lap.end) != cudaSuccess) continue;
    const auto ns = std::max<std::int64_t>(static_cast<std::int64_t>(ms * 1e6F), 1);
    trace_.record(what, 0, {.begin = lap.launched, .lasted = Duration(ns), .items = lap.items});
  }
  used_ = 0;
}

}  // namespace godwit::cuda
