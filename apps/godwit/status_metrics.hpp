// The numbers in nodes' statuses, for Prometheus.
#pragma once

#include <span>
#include <string>

#include "trace/json_value.hpp"

namespace godwit::cli {

struct AskedNode {
  std::string name;
  const trace::JsonValue* status = nullptr;  // null: it did not answer
};

// The text exposition format: godwit_up for every node, and what those that answered count, each
// with the node's name as a label. Numbers that a node of another version does not tell are 0.
[[nodiscard]] std::string status_metrics(std::span<const AskedNode> nodes);

}  // namespace godwit::cli
