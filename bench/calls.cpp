#include "calls.hpp"

#include <filesystem>

namespace godwit::bench {

Result<Bundle> open_bundle(const std::string& name) {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return Bundle::open((self.parent_path() / name).string());
}

Result<floors::Sample> time_window(const Calls& calls, std::size_t window,
                                   const BoundFunction<Echo>& echo) {
  struct InFlight {
    Future<Block> future;
    std::uint64_t sent_ns = 0;
  };
  std::vector<InFlight> ring(window);
  floors::RoundTrips times(calls.rounds);
  const Block block{1, 2, 3, 4, 5, 6, 7, 8};
  const std::size_t last = calls.warm_up_rounds + calls.rounds;
  std::uint64_t begin_ns = floors::now_ns();
  for (std::size_t i = 0; i < last + window; ++i) {
    InFlight& slot = ring[i % window];
    if (slot.future.valid()) {
      const auto outcome = slot.future.get();
      GODWIT_CHECK(check(outcome));
      const std::size_t answered = i - window + 1;
      if (answered > calls.warm_up_rounds && slot.sent_ns != 0) {
        times.add(floors::now_ns() - slot.sent_ns);
      }
      if (answered == calls.warm_up_rounds) begin_ns = floors::now_ns();
    }
    if (i >= last) continue;
    slot.sent_ns = floors::is_timed(i, window) ? floors::now_ns() : 0;
    slot.future = echo(block);
  }
  return times.summarise(floors::now_ns() - begin_ns, calls.rounds);
}

Result<floors::Sample> time_threads(const Calls& calls, std::size_t threads,
                                    const BoundFunction<Echo>& echo) {
  const std::size_t each = calls.rounds / threads;
  std::vector<std::vector<std::uint64_t>> times_ns(threads, std::vector<std::uint64_t>(each));
  std::vector<Status> ended(threads);
  const auto work = [&](std::size_t thread) -> Status {
    const Block block{thread};
    std::uint64_t sent_ns = floors::now_ns();
    for (std::uint64_t& time_ns : times_ns[thread]) {
      GODWIT_CHECK(check(echo(block).get()));
      const std::uint64_t answered_ns = floors::now_ns();
      time_ns = answered_ns - sent_ns;
      sent_ns = answered_ns;
    }
    return {};
  };
  const std::uint64_t begin_ns = floors::now_ns();
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] { ended[i] = work(i); });
  }
  for (std::thread& thread : running) thread.join();
  const std::uint64_t wall_ns = floors::now_ns() - begin_ns;
  floors::RoundTrips times(threads * each);
  for (std::size_t i = 0; i < threads; ++i) {
    GODWIT_CHECK(ended[i]);
    for (const std::uint64_t time_ns : times_ns[i]) times.add(time_ns);
  }
  return times.summarise(wall_ns);
}

}  // namespace godwit::bench
