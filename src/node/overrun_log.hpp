// Which overruns of inline functions are worth a line in the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "base/ids.hpp"
#include "base/scheduler.hpp"

namespace godwit::node {

// A function's first, and each that took twice as long as the longest told of: on a busy machine
// the kernel takes the core away in the middle of a short function now and then, and nobody should
// read about that all day. One thread.
class OverrunLog {
 public:
  // Functions that are remembered; when there are more, all are forgotten.
  static constexpr std::size_t kMaxFunctions = 1024;

  [[nodiscard]] bool is_news(const ContentId& bundle, std::uint32_t function, Duration took) {
    if (longest_.size() >= kMaxFunctions) longest_.clear();
    const auto [it, first] = longest_.try_emplace({bundle, function}, took);
    if (first) return true;
    if (took < 2 * it->second) return false;
    it->second = took;
    return true;
  }

 private:
  std::map<std::pair<ContentId, std::uint32_t>, Duration> longest_;
};

}  // namespace godwit::node
