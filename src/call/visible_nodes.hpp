// The fleet as mobile code sees it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace godwit::call {

struct VisibleNode {
  NodeId id;
  std::string name;
};

// The nodes that mobile code may go to, in order of their names. Immutable, so it may cross
// threads.
using VisibleNodes = std::shared_ptr<const std::vector<VisibleNode>>;

}  // namespace godwit::call
