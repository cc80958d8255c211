#include <fmt/format.h>

#include "base/fail.hpp"
#include "code/bundle/limits.hpp"
#include "code/jit/jit.hpp"
#include "code/toolchain/tools.hpp"
#include "code/types/type.hpp"
#include "command.hpp"
#include "fleet/limits.hpp"
#include "machine_facts.hpp"
#include "trace/json.hpp"

namespace godwit::cli {
namespace {

struct Limit {
  std::string_view name;
  std::uint64_t value;
};
constexpr Limit kLimits[] = {
    {"bundle_bytes", code::kMaxBundleBytes},
    {"functions_per_bundle", code::kMaxFunctions},
    {"slices_per_bundle", code::kMaxSlices},
    {"parameters_per_function", code::kTypeItemLimit},
    {"type_depth", code::kTypeDepthLimit},
    {"plain_value_bytes", code::kPlainSizeLimit},
    {"node_name_bytes", fleet::kMaxNodeNameBytes},
    {"addresses_per_node", fleet::kMaxAddresses},
    {"nodes_per_fleet", fleet::TableLimits{}.max_nodes},
    {"shared_names_per_fleet", fleet::TableLimits{}.max_names},
};

struct Facts {
  MachineFacts machine;
  Result<code::jit::JitInfo> jit;
  Result<code::Tools> tools;
};

Facts gather() {
  Facts facts{look_at_machine(), {}, code::find_tools({})};
  facts.jit = code::jit::open_jit({}).map(
      [](const std::unique_ptr<code::jit::Jit>& jit) { return jit->info(); });
  return facts;
}

void print_text(const Facts& facts) {
  const MachineFacts& machine = facts.machine;
  fmt::print("godwit {}\n\n", GODWIT_VERSION);
  fmt::print("machine     {}, {}, {} cores, {:.1f} GiB\n", machine.machine, machine.cpu,
             machine.cores, static_cast<double>(machine.memory_bytes) / (1U << 30U));
  for (const TransportFact& transport : machine.transports) {
    fmt::print("{:<12}{}\n", transport.name,
               transport.problem.empty() ? "usable" : "not usable: " + transport.problem);
  }
  fmt::print("rdma        {}\n", machine.rdma_devices.empty()
                                     ? "no device"
                                     : fmt::format("{}", fmt::join(machine.rdma_devices, ", ")));
  if (facts.jit) {
    fmt::print("jit         LLVM {}, compiles for {}\n", facts.jit->llvm_version, facts.jit->cpu);
  } else {
    fmt::print("jit         none: {}\n", facts.jit.error().message);
  }
  if (facts.tools) {
    fmt::print("toolchain   {} ({}), headers in {}\n", facts.tools->clang, facts.tools->producer(),
               facts.tools->include_dir.string());
  } else {
    fmt::print("toolchain   none: {}\n", facts.tools.error().message);
  }
  fmt::print("\nlimits\n");
  for (const Limit& limit : kLimits) fmt::print("  {:<26}{}\n", limit.name, limit.value);
}

void print_json(const Facts& facts) {
  const MachineFacts& machine = facts.machine;
  trace::Json out;
  out.open('{').field("version", GODWIT_VERSION);
  out.field("machine", machine.machine).field("cpu", machine.cpu).field("cores", machine.cores);
  out.field("memory_bytes", machine.memory_bytes).key("transports").open('[');
  for (const TransportFact& transport : machine.transports) {
    out.open('{').field("name", transport.name).field("usable", transport.problem.empty());
    out.field("problem", transport.problem).close('}');
  }
  out.close(']').field("rdma_devices", machine.rdma_devices).key("jit").open('{');
  out.field("usable", facts.jit.has_value());
  if (facts.jit) {
    out.field("llvm_version", facts.jit->llvm_version).field("cpu", facts.jit->cpu);
    out.field("features", facts.jit->features);
  } else {
    out.field("problem", facts.jit.error().message);
  }
  out.close('}').key("toolchain").open('{').field("usable", facts.tools.has_value());
  if (facts.tools) {
    out.field("clang", facts.tools->clang).field("version", facts.tools->version);
    out.field("include_dir", facts.tools->include_dir.string());
  } else {
    out.field("problem", facts.tools.error().message);
  }
  out.close('}').key("limits").open('{');
  for (const Limit& limit : kLimits) out.field(limit.name, limit.value);
  out.close('}').close('}');
  fmt::print("{}\n", out.text());
}

Ended info(bool json) {
  const Facts facts = gather();
  json ? print_json(facts) : print_text(facts);
  return {};
}

}  // namespace

void add_info(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "info",
             .usage = "[--json]",
             .summary = "Show what works here: transports, CPU, compiler, JIT, and the limits",
             .examples = "godwit info\ngodwit info --json"});
  add_json_flag(command, invocation);
  command.callback(
      [&invocation] { invocation.command = [&invocation] { return info(invocation.json); }; });
}

}  // namespace godwit::cli
