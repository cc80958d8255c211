// Functions that keep a promise where the promise is, or answer, with the time at which they do.
#include <time.h>
#include <godwit/mobile.hpp>

#include <cstdint>

namespace {

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Not at once: whoever calls may share a core with the consumer, and is to have left it.
std::uint64_t later_ns() {
  constexpr std::uint64_t kLater_ns = 30'000;
  const std::uint64_t begin_ns = now_ns();
  std::uint64_t at_ns = begin_ns;
  while (at_ns < begin_ns + kLater_ns) at_ns = now_ns();
  return at_ns;
}

}  // namespace

std::int32_t keep_now(godwit::Here& here, godwit::HandleOf<std::uint64_t> promised) {
  return here.try_fulfil(promised, later_ns());
}
GODWIT_EXPORT(keep_now, inline_);

// The same without a promise: what an answer takes.
std::uint64_t tell_now(godwit::Here& /*here*/) {
  return later_ns();
}
GODWIT_EXPORT(tell_now, inline_);
