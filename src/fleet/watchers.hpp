// Who wants to know of changes in a table.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/task.hpp"
#include "fleet/entry.hpp"

namespace godwit::fleet {

// One changed entry. Exactly one of the two is set; both live only during the callback.
struct Change {
  std::uint64_t key = 0;
  bool local = false;  // written by this process, not learned from another
  const NodeEntry* node = nullptr;
  const NameEntry* name = nullptr;
};
using WatchCallback = UniqueFunction<void(const Change&)>;

struct WatchId {
  std::uint64_t value = 0;
};

// Callbacks may add and remove watches, their own included; one added during a notification hears
// of later changes only. They must not write to the table: what they were shown would change under
// those told next. Post that instead.
class Watchers {
 public:
  WatchId add(WatchCallback callback) {
    watches_.push_back({++last_id_, std::move(callback)});
    return {last_id_};
  }
  void remove(WatchId id) {
    for (Watch& watch : watches_) {
      if (watch.id == id.value) watch.id = 0;
    }
    if (depth_ == 0) sweep();
  }
  [[nodiscard]] bool notifying() const noexcept { return depth_ > 0; }
  void notify(const Change& change) {
    ++depth_;
    const std::size_t count = watches_.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (watches_[i].id == 0) continue;
      // Moved out while it runs: adding a watch may move the vector's elements.
      WatchCallback callback = std::move(watches_[i].callback);
      callback(change);
      watches_[i].callback = std::move(callback);
    }
    if (--depth_ == 0) sweep();
  }

 private:
  struct Watch {
    std::uint64_t id = 0;  // 0: removed
    WatchCallback callback;
  };
  void sweep() {
    std::erase_if(watches_, [](const Watch& watch) { return watch.id == 0; });
  }

  std::vector<Watch> watches_;
  std::uint64_t last_id_ = 0;
  int depth_ = 0;
};

}  // namespace godwit::fleet
