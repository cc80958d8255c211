// What the fleet knows about a node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "godwit/error.hpp"

namespace godwit::fleet {

enum class NodeState : std::uint8_t {
  up = 0,
  leaving = 1,  // takes no new work, ends soon
  lost = 2,     // somebody could not reach it; it contradicts if it lives
};
[[nodiscard]] std::string_view to_string(NodeState state) noexcept;

enum class NodeRole : std::uint8_t {
  node = 0,
  client = 1,  // cannot be connected to; keeps itself informed
};
[[nodiscard]] std::string_view to_string(NodeRole role) noexcept;

// What code a node can run.
struct Target {
  std::string arch;  // "x86_64", "aarch64"
  std::string cpu;   // as its system names it: "AMD EPYC 9B14 96-Core Processor"
  std::string os;    // "linux"
  bool has_jit = false;
  std::uint16_t llvm_major = 0;
  friend bool operator==(const Target&, const Target&) = default;
};

struct Capacities {
  std::uint32_t cores = 0;
  std::uint64_t memory_bytes = 0;
  std::uint32_t gpus = 0;
  friend bool operator==(const Capacities&, const Capacities&) = default;
};

struct NodeRecord {
  NodeId id{};
  Epoch epoch{};
  std::string name{};                    // for people; unique if they keep it so
  std::vector<std::string> addresses{};  // fabric::Address text, best first
  Target target{};
  Capacities capacities{};
  NodeState state = NodeState::up;
  NodeRole role = NodeRole::node;
  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};

// invalid_argument, with the field and the limit, if the record could not travel.
[[nodiscard]] Status validate(const NodeRecord& record);

}  // namespace godwit::fleet
