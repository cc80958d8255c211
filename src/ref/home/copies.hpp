// Copies that this node keeps of objects of other homes, by the handles that they stand for.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "godwit/error.hpp"
#include "godwit/handle.hpp"

namespace godwit::ref {

// A copy is an object of this node's own, which ends when its lease does: what is found here may be
// gone. It stands for the very handle that it was made for, whose mac the home has checked then: a
// handle that was changed in any part finds nothing. One copy for an object, the latest. Any
// thread.
class Copies {
 public:
  static constexpr std::size_t kMax = 65'536;

  // A look at a counter where there are none.
  [[nodiscard]] std::optional<Handle> find(const Handle& original) const;
  // False: there are kMax of them.
  [[nodiscard]] bool add(const Handle& original, const Handle& copy);
  void forget(const Handle& original, const Handle& copy);
  // Forgets those whose copies are gone, as `is_gone` says of them; costs a look at each.
  template <class IsGone>
  void forget_if(const IsGone& is_gone) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [&](const auto& entry) { return is_gone(entry.second.copy); });
    count_.store(all_.size(), std::memory_order_relaxed);
  }

 private:
  struct Copy {
    Handle original;
    Handle copy;
  };
  mutable std::mutex mutex_;
  std::unordered_map<ObjectId, Copy> all_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace godwit::ref
