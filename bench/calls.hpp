// Timing Godwit calls the way the floors time messages.
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/fail.hpp"
#include "floors/sample.hpp"
#include "godwit/godwit.hpp"

namespace godwit::bench {

using Block = std::array<std::uint64_t, 8>;  // the 64 bytes of the small rows
using Echo = Block(Block);
using EchoBytes = std::vector<std::byte>(std::span<const std::byte>);
using Increment = std::uint64_t(std::uint64_t);

// The bundles that stand beside the executable. Errors as Bundle::open().
[[nodiscard]] Result<Bundle> open_bundle(const std::string& name);

// Long enough for both sides of a polling link to fall asleep, so that they leave the floor alone.
inline void let_pollers_sleep() {
  std::this_thread::sleep_for(std::chrono::milliseconds(12));
}
// And so many questions that both have been awake for a while.
template <class T>
[[nodiscard]] Status keep_asking(const Ref<T>& object) {
  constexpr int kQuestions = 100;
  for (int i = 0; i < kQuestions; ++i) {
    GODWIT_TRY(const bool there, object.exists());
    if (!there) return fail(ErrorCode::internal, "what was put is not there");
  }
  return {};
}

template <class R>
[[nodiscard]] Status check(const Outcome<R>& outcome) {
  if (outcome) return {};
  return fail(outcome.error().reason, "a measured call ended as {}", to_string(outcome.error()));
}

struct Calls {
  std::size_t rounds = 20'000;
  std::size_t warm_up_rounds = 1'000;
};

// One call at a time: `call` makes one and returns its Outcome.
template <class Call>
[[nodiscard]] Result<floors::Sample> time_calls(const Calls& calls, const Call& call) {
  floors::RoundTrips times(calls.rounds);
  const std::size_t last = calls.warm_up_rounds + calls.rounds;
  std::uint64_t begin_ns = floors::now_ns();
  std::uint64_t sent_ns = begin_ns;
  for (std::size_t round = 1; round <= last; ++round) {
    const auto outcome = call();
    const std::uint64_t answered_ns = floors::now_ns();
    GODWIT_CHECK(check(outcome));
    if (round > calls.warm_up_rounds) times.add(answered_ns - sent_ns);
    if (round == calls.warm_up_rounds) begin_ns = answered_ns;
    sent_ns = answered_ns;
  }
  return times.summarise(sent_ns - begin_ns);
}

// `window` calls in flight, answered in the order they were made.
[[nodiscard]] Result<floors::Sample> time_window(const Calls& calls, std::size_t window,
                                                 const BoundFunction<Echo>& echo);

// `threads` threads, one call at a time each; the rate is of all together.
[[nodiscard]] Result<floors::Sample> time_threads(const Calls& calls, std::size_t threads,
                                                  const BoundFunction<Echo>& echo);

}  // namespace godwit::bench
