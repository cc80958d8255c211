// Thread-locals with and without destructors, threads, and what of them libstdc++ implements with
// thread-locals of its own.
#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include "entry.hpp"

namespace {

thread_local uint64_t counter = 40;
std::atomic<uint64_t>* destroyed = nullptr;

struct Guest {
  uint64_t visits = 0;
  ~Guest() {
    if (destroyed != nullptr) ++*destroyed;
  }
};
thread_local Guest guest;

}  // namespace

ENTRY(count_up) {
  return answer(reply, ++counter);
}
ENTRY(visit) {
  destroyed = pointer<std::atomic<uint64_t>>(args, 0);
  return answer(reply, ++guest.visits);
}
ENTRY(count_in_new_thread) {
  uint64_t seen = 0;
  std::thread([&] { seen = ++counter; }).join();
  return answer(reply, seen);
}
ENTRY(promise_kept) {
  std::promise<uint64_t> promise;
  auto future = promise.get_future();
  std::thread worker([&] { promise.set_value(17); });
  const uint64_t value = future.get();
  worker.join();
  static std::once_flag once;
  uint64_t calls = 0;
  std::call_once(once, [&] { ++calls; });
  return answer(reply, value + calls);
}
// Leaves a thread behind that ends once the flag is 1, and then sets it to 2.
ENTRY(start_thread) {
  auto* flag = pointer<std::atomic<uint64_t>>(args, 0);
  std::thread([flag] {
    while (flag->load() != 1) std::this_thread::yield();
    flag->store(2);
  }).detach();
  return answer(reply, 0);
}
