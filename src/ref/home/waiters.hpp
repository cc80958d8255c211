// Who waits for an object to come, to change or to end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/list.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"

namespace godwit::ref {

// Each waiter is handed out once: by take(), or to nobody after remove(). Any thread; the caller
// sees to it that nothing happens to an object between its look at it and add().
class Waiters {
 public:
  static constexpr std::size_t kMaxWaiters = std::size_t{1} << 20;

  // Errors: overload, already_exists (that number waits).
  [[nodiscard]] Status add(const ObjectId& object, std::uint64_t newer_than, std::uint64_t waiter);
  void remove(std::uint64_t waiter);
  // Adds those that wait for something older than `version` to `ready`. True: others stay.
  bool take(const ObjectId& object, std::uint64_t version, std::vector<std::uint64_t>& ready);
  [[nodiscard]] std::size_t size() const;

 private:
  struct OfObject {};
  struct Waiter : ListHook<OfObject> {
    std::uint64_t number = 0;
    std::uint64_t newer_than = 0;
    ObjectId object;
  };
  using OneObject = IntrusiveList<Waiter, OfObject>;

  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Waiter> waiters_;
  std::unordered_map<ObjectId, OneObject> objects_;
};

}  // namespace godwit::ref
