// A function that keeps a promise where the promise is, with the time at which it does.
#include <time.h>
#include <godwit/mobile.hpp>

#include <cstdint>

std::int32_t keep_now(godwit::Here& here, godwit::HandleOf<std::uint64_t> promised) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto now_ns = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
                      static_cast<std::uint64_t>(now.tv_nsec);
  return here.try_fulfil(promised, now_ns);
}
GODWIT_EXPORT(keep_now, inline_);
