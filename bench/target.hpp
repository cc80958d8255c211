// A node to call, in its own process and on its own core, and a client's connection to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "godwit/godwit.hpp"
#include "node/local_nodes.hpp"
#include "settings.hpp"

namespace godwit::bench {

class Target {
 public:
  struct Options {
    LocalTransport transport = LocalTransport::shm;
    std::int64_t spin_us = kPollingSpinUs;  // of both sides
    int client_core = 0;
    int node_core = 1;
  };

  // Starts `godwit node` and connects. The calling thread stays on the client's core.
  [[nodiscard]] static Result<Target> start(const Options& options);
  // The same for a node that already serves at `address`.
  [[nodiscard]] static Result<Target> join(const std::string& address, const Options& options);

  [[nodiscard]] NodeHandle node() const { return fleet_->node(0); }

 private:
  Target() = default;
  std::unique_ptr<node::LocalNodes> nodes_;  // outlives the connection
  std::unique_ptr<Fleet> fleet_;
};

}  // namespace godwit::bench
