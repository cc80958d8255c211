#include "machine_facts.hpp"

#include <filesystem>

#include "base/fail.hpp"
#include "code/bundle/target.hpp"
#include "code/native/runtime_directory.hpp"
#include "node/machine.hpp"
#include "node/places.hpp"
#include "node/runtime.hpp"
#include "trace/log.hpp"

namespace godwit::cli {
namespace {

namespace fs = std::filesystem;

// A transport is usable if something can listen on it.
Status try_listening(const std::string& address) {
  trace::Log log = trace::Log::silent();
  node::Runtime::Options options;
  options.id = random_node_id();
  options.epoch = Epoch{1};
  options.name = "probe";
  options.reactor.offload_threads = 1;
  options.pool.width = 1;
  GODWIT_TRY(const auto runtime, node::Runtime::create(std::move(options), log));
  return runtime->listen({address});
}

Status try_shm() {
  GODWIT_TRY(const auto directory, code::RuntimeDirectory::create(code::default_runtime_base()));
  return try_listening(node::node_address(directory.path(), "probe"));
}

std::string problem_of(const Status& status) {
  return status ? "" : status.error().message;
}

std::vector<std::string> rdma_devices() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/class/infiniband", error)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

}  // namespace

MachineFacts look_at_machine() {
  MachineFacts facts;
  facts.machine = code::to_string(code::host_machine());
  facts.cpu = node::cpu_name();
  const fleet::Capacities capacities = node::capacities();
  facts.cores = capacities.cores;
  facts.memory_bytes = capacities.memory_bytes;
  facts.transports.push_back({"shm", problem_of(try_shm())});
  facts.transports.push_back({"tcp", problem_of(try_listening("tcp:127.0.0.1:0"))});
  facts.rdma_devices = rdma_devices();
  return facts;
}

}  // namespace godwit::cli
