#include "forward/cuda/meeting.hpp"

#include "base/fail.hpp"
#include "fabric/fence.hpp"

namespace godwit::cuda {

namespace {
// A round with few items takes about that long; a thread that sleeps needs longer to wake up.
constexpr int kSpins = 4000;
}  // namespace

Meeting::Arrival Meeting::arrive() {
  const std::lock_guard lock(mutex_);
  Arrival arrival{.number = ended_.load(std::memory_order_relaxed)};
  if (broken_) return arrival;
  arrival.last = ++arrived_ == members_;
  if (arrival.last) closing_ = true;
  return arrival;
}

Status Meeting::wait(std::uint64_t number, std::chrono::milliseconds patience) {
  for (int spin = 0; spin < kSpins && ended_.load(std::memory_order_acquire) == number; ++spin) {
    fabric::cpu_relax();
  }
  std::unique_lock lock(mutex_);
  const auto over = [&] { return ended_.load(std::memory_order_relaxed) != number || broken_; };
  if (!changed_.wait_for(lock, patience, [&] { return over() || closing_; })) {
    broken_ =
        Error{ErrorCode::deadline,
              fmt::format("{} of {} ranks came to the round within {} ms; if kernels take that "
                          "long, raise Options::patience",
                          arrived_, members_, patience.count())};
    changed_.notify_all();
  }
  changed_.wait(lock, over);  // bounded: what closes has limits of its own
  // Who left after this meeting does not spoil it.
  if (ended_.load(std::memory_order_relaxed) == number) return tl::unexpected(*broken_);
  if (failed_) return tl::unexpected(*failed_);
  return {};
}

void Meeting::conclude(const Status& end) {
  {
    const std::lock_guard lock(mutex_);
    if (!end) failed_ = broken_ = end.error();
    arrived_ = 0;
    closing_ = false;
    ended_.fetch_add(1, std::memory_order_release);
  }
  changed_.notify_all();
}

void Meeting::break_up(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!broken_) broken_ = error;
  }
  changed_.notify_all();
}

}  // namespace godwit::cuda
