#include "target.hpp"

#include "base/fail.hpp"

namespace godwit::bench {

Result<Target> Target::join(const std::string& address, const Options& options) {
  // The client's threads inherit the core.
  run_on_core(options.client_core);
  ClientOptions client;
  client.spin_us = options.spin_us;
  GODWIT_TRY(Fleet fleet, Fleet::join(address, client));
  Target target;
  target.fleet_ = std::make_unique<Fleet>(std::move(fleet));
  if (target.fleet_->nodes().empty()) {
    return fail(ErrorCode::unreachable, "the node at {} is not listed in its own fleet", address);
  }
  return target;
}

Result<Target> Target::start(const Options& options) {
  node::LocalNodes::Options nodes;
  nodes.tcp = options.transport == LocalTransport::tcp;
  nodes.node_arguments = {"--spin-us=" + std::to_string(options.spin_us)};
  run_on_core(options.node_core);
  GODWIT_TRY(auto started, node::LocalNodes::start(1, std::move(nodes)));
  GODWIT_TRY(Target target, join(started->addresses().front(), options));
  target.nodes_ = std::move(started);
  return target;
}

}  // namespace godwit::bench
