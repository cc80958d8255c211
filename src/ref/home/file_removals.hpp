// Files of objects that have ended, to be removed by a thread that may wait for a disk.
#pragma once

#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "ref/disk/object_file.hpp"

namespace godwit::ref {

// Any thread. Holds names of files that are there, so the folder's budget bounds it.
class FileRemovals {
 public:
  // True: there were none, and somebody is to be told.
  [[nodiscard]] bool add(std::span<const ObjectFileName> names) {
    const std::lock_guard lock(mutex_);
    const bool first = names_.empty();
    names_.insert(names_.end(), names.begin(), names.end());
    return first;
  }
  [[nodiscard]] std::vector<ObjectFileName> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(names_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<ObjectFileName> names_;
};

}  // namespace godwit::ref
