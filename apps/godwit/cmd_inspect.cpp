#include <fmt/format.h>

#include "base/fail.hpp"
#include "code/bundle/bundle.hpp"
#include "command.hpp"
#include "trace/json.hpp"

namespace godwit::cli {
namespace {

std::string flags_of(const code::FunctionInfo& function) {
  std::string text;
  if (function.is_inline()) text += "  inline";
  if (function.is_idempotent()) text += "  idempotent";
  return text;
}

std::vector<std::string> state_of(const code::SliceInfo& slice) {
  std::vector<std::string> state;
  if (slice.traits.mutable_globals) state.emplace_back("mutable globals");
  if (slice.traits.thread_locals) state.emplace_back("thread locals");
  if (slice.traits.constructors) state.emplace_back("constructors");
  if (slice.traits.may_start_threads) state.emplace_back("may start threads");
  return state;
}

void print_text(const code::Bundle& bundle, bool imports) {
  fmt::print("{}\n  id        {}\n  producer  {}\n", bundle.name(), bundle.id().hex(),
             bundle.producer());
  if (!bundle.needs().empty()) fmt::print("  needs     {}\n", fmt::join(bundle.needs(), ", "));
  fmt::print("\nfunctions\n");
  for (const code::FunctionInfo& function : bundle.functions()) {
    fmt::print("  {}{}{}\n", function.name, function.signature, flags_of(function));
  }
  fmt::print("\nslices\n");
  for (const code::SliceInfo& slice : bundle.slices()) {
    const auto state = state_of(slice);
    fmt::print("  {:<8} {:<8} {:>9} bytes  {}  {}, {} imports{}{}\n", to_string(slice.kind),
               to_string(slice.machine), slice.size_bytes, slice.id.short_hex(), slice.producer,
               slice.traits.imports.size(), state.empty() ? "" : ", ", fmt::join(state, ", "));
    if (!imports) continue;
    for (const std::string& name : slice.traits.imports) fmt::print("      {}\n", name);
  }
}

void print_json(const code::Bundle& bundle) {
  trace::Json out;
  out.open('{');
  out.field("name", bundle.name()).field("id", bundle.id().hex());
  out.field("producer", bundle.producer()).field("needs", bundle.needs());
  out.key("functions").open('[');
  for (const code::FunctionInfo& function : bundle.functions()) {
    out.open('{').field("name", function.name).field("signature", function.signature);
    out.field("entry", function.entry).field("inline", function.is_inline());
    out.field("idempotent", function.is_idempotent()).close('}');
  }
  out.close(']').key("slices").open('[');
  for (const code::SliceInfo& slice : bundle.slices()) {
    out.open('{').field("kind", to_string(slice.kind)).field("machine", to_string(slice.machine));
    out.field("triple", slice.triple).field("size_bytes", slice.size_bytes);
    out.field("id", slice.id.hex()).field("producer", slice.producer);
    out.field("llvm_major", slice.llvm_major).field("stateful", slice.stateful());
    out.field("mutable_globals", slice.traits.mutable_globals);
    out.field("thread_locals", slice.traits.thread_locals);
    out.field("constructors", slice.traits.constructors);
    out.field("may_start_threads", slice.traits.may_start_threads);
    out.field("imports", slice.traits.imports).close('}');
  }
  out.close(']').close('}');
  fmt::print("{}\n", out.text());
}

Ended inspect(const std::string& file, bool imports, bool json) {
  GODWIT_TRY(const code::Bundle bundle, code::Bundle::open(file));
  json ? print_json(bundle) : print_text(bundle, imports);
  return {};
}

}  // namespace

void add_inspect(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "inspect",
             .usage = "FILE.gdw [--imports] [--json]",
             .summary = "Show what is in a bundle: functions, slices, and what they ask for",
             .examples = "godwit inspect kernels.gdw\ngodwit inspect kernels.gdw --json"});
  const auto file = std::make_shared<std::string>();
  const auto imports = std::make_shared<bool>(false);
  command.add_option("FILE", *file, "The bundle")->required();
  command.add_flag("--imports", *imports, "List the symbols each slice takes from its node");
  add_json_flag(command, invocation);
  command.callback([&invocation, file, imports] {
    invocation.command = [&invocation, file, imports] {
      return inspect(*file, *imports, invocation.json);
    };
  });
}

}  // namespace godwit::cli
