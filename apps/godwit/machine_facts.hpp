// What this machine offers to a node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace godwit::cli {

struct TransportFact {
  std::string name;     // as in addresses: "shm", "tcp"
  std::string problem;  // why it cannot be used here; empty: it can
};

struct MachineFacts {
  std::string machine;  // "x86_64"
  std::string cpu;      // as the system names it; empty if it does not
  unsigned cores = 0;
  std::uint64_t memory_bytes = 0;
  std::vector<TransportFact> transports;
  std::vector<std::string> rdma_devices;
};

// Opens and closes each transport once: takes some tens of milliseconds.
[[nodiscard]] MachineFacts look_at_machine();

}  // namespace godwit::cli
