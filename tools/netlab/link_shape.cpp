#include "netlab/link_shape.hpp"

#include "base/fail.hpp"

namespace godwit::netlab {
namespace {

Status check_time(std::chrono::nanoseconds time, const char* what) {
  if (time >= std::chrono::nanoseconds(0) && time <= kMaxDelay) return {};
  return fail(ErrorCode::invalid_argument, "a {} of {} ns makes no sense; give 0 to {} s", what,
              time.count(), std::chrono::duration_cast<std::chrono::seconds>(kMaxDelay).count());
}

}  // namespace

Status check(const LinkShape& shape) {
  GODWIT_CHECK(check_time(shape.delay, "delay"));
  GODWIT_CHECK(check_time(shape.jitter, "jitter"));
  if (!(shape.loss >= 0 && shape.loss <= 1)) {
    return fail(ErrorCode::invalid_argument,
                "a loss of {} makes no sense; give a fraction from 0 to 1", shape.loss);
  }
  if (shape.queue_limit_bytes > kMaxQueueLimitBytes) {
    return fail(ErrorCode::invalid_argument, "a queue of {} bytes is too long; give at most {}",
                shape.queue_limit_bytes, kMaxQueueLimitBytes);
  }
  return {};
}

}  // namespace godwit::netlab
