#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/fail.hpp"
#include "command.hpp"
#include "connect.hpp"
#include "duration.hpp"
#include "free_words.hpp"
#include "interrupt.hpp"
#include "run_trace.hpp"
#include "source_options.hpp"
#include "trace/json.hpp"
#include "untyped_call.hpp"

namespace godwit::cli {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMaxRepeat = 10'000'000;  // each leaves a time in memory

constexpr std::string_view kRunDetails =
    "Arguments are read by the function's signature (`godwit inspect` shows it):\n"
    "  numbers and bool    42, -3, 0xff, 2.5, inf, true\n"
    "  str                 as it is; inside other values quoted as in JSON\n"
    "  bytes               as they are; hex:00ff; @path for a file's content\n"
    "  span, list, array   [1, 2, 3]; of plain elements also @path\n"
    "  map, struct         {key: value}\n"
    "  opt                 null, or the value\n"
    "A source is compiled for the machines it will run on and kept nowhere. Ctrl-C cancels the "
    "call.";

struct RunOptions {
  std::string file;
  std::string function;
  std::vector<std::string> arguments;
  std::string on;
  std::string deadline = "60s";
  std::size_t repeat = 1;
  bool time = false;
  std::string trace;
  ConnectOptions connect;
  SourceOptions source;
};

// What one node answered, the last time it was asked.
struct NodeResult {
  Answer last;
  std::vector<nanoseconds> times;
};

// A source is compiled for the machines it will run on, and kept nowhere.
tl::expected<code::Bundle, Failed> compile_for(const RunOptions& options, const Fleet& fleet,
                                               const std::vector<NodeHandle>& nodes) {
  code::CompileRequest request = options.source.request({options.file});
  std::set<code::Machine> machines;
  for (const NodeDescription& node : fleet.describe()) {
    const bool chosen = std::any_of(nodes.begin(), nodes.end(), [&](const NodeHandle& handle) {
      return handle.id() == node.id;
    });
    if (const auto machine = code::parse_machine(node.machine); chosen && machine) {
      machines.insert(*machine);
    }
  }
  request.targets.assign(machines.begin(), machines.end());
  request.kinds = {code::SliceKind::native};
  return cli::compile(request);
}

// All nodes at once if each is asked once; else one after the other, so that times mean something.
std::vector<NodeResult> call_all(UntypedCall& call, const std::vector<NodeHandle>& nodes,
                                 nanoseconds deadline, std::size_t repeat, RunTrace& trace) {
  std::vector<NodeResult> results(nodes.size());
  const auto note = [&](std::size_t node, steady_clock::time_point started, std::size_t round) {
    const Answer& last = results[node].last;
    if (!trace.is_on()) return;
    trace.span((last.ok ? "call on " : "failed call on ") + last.node,
               static_cast<std::uint32_t>(node + 1), started, last.took, round);
  };
  if (repeat == 1) {
    std::vector<detail::CallHandle> calls;
    const auto started = steady_clock::now();
    for (const NodeHandle& node : nodes) calls.push_back(call.start(node, deadline));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      results[i].last = call.finish(nodes[i], calls[i], started);
      note(i, started, 0);
    }
    return results;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t round = 0; round < repeat; ++round) {
      const auto started = steady_clock::now();
      detail::CallHandle handle = call.start(nodes[i], deadline);
      results[i].last = call.finish(nodes[i], handle, started);
      note(i, started, round);
      if (!results[i].last.ok) break;
      results[i].times.push_back(results[i].last.took);
    }
  }
  return results;
}

struct Latency {
  nanoseconds least, median, p99, most, mean;
};

Latency summarise(std::vector<nanoseconds> times) {
  std::sort(times.begin(), times.end());
  nanoseconds sum{};
  for (const nanoseconds time : times) sum += time;
  const auto at = [&](std::size_t percent) { return times[(times.size() - 1) * percent / 100]; };
  return {times.front(), at(50), at(99), times.back(),
          sum / static_cast<std::int64_t>(times.size())};
}

void print_text(const std::vector<NodeResult>& results, const RunOptions& options) {
  const bool many = options.on == "all";
  for (const NodeResult& result : results) {
    const std::string label = many ? result.last.node + ": " : "";
    if (!result.last.ok) {
      if (many) fmt::print(stderr, "{}{}\n", label, to_string(result.last.failure));
      continue;
    }
    if (!result.last.text.empty() || many) fmt::print("{}{}\n", label, result.last.text);
    if (options.time && result.times.empty()) {
      fmt::print(stderr, "{}{}\n", label, format_duration(result.last.took));
    }
    if (result.times.empty()) continue;
    const Latency latency = summarise(result.times);
    fmt::print("{}{} calls: min {}, p50 {}, p99 {}, max {}, mean {}\n", label, result.times.size(),
               format_duration(latency.least), format_duration(latency.median),
               format_duration(latency.p99), format_duration(latency.most),
               format_duration(latency.mean));
  }
}

void print_json(const std::vector<NodeResult>& results) {
  trace::Json out;
  out.open('{').key("results").open('[');
  for (const NodeResult& result : results) {
    const Answer& answer = result.last;
    out.open('{').field("node", answer.node).field("took_us", us(answer.took));
    out.field("ending", to_string(answer.ok ? Ending::ok : answer.failure.ending));
    if (answer.ok) {
      out.key("result").raw(answer.json);
    } else {
      out.field("code", to_string(error_of(answer.failure).code));
      out.field("message", answer.failure.message);
      out.field("may_have_started", answer.failure.may_have_started);
    }
    if (!result.times.empty()) {
      const Latency latency = summarise(result.times);
      out.field("calls", result.times.size()).key("latency_us").open('{');
      out.field("min", us(latency.least)).field("p50", us(latency.median));
      out.field("p99", us(latency.p99)).field("max", us(latency.most));
      out.field("mean", us(latency.mean)).close('}');
    }
    out.close('}');
  }
  fmt::print("{}\n", out.close(']').close('}').text());
}

// The first failure decides how the command ends.
Ended end_of(const std::vector<NodeResult>& results) {
  const auto failed = std::find_if(results.begin(), results.end(),
                                   [](const NodeResult& result) { return !result.last.ok; });
  if (failed == results.end()) return {};
  Error error = error_of(failed->last.failure);
  if (results.size() > 1) {
    const auto count = std::count_if(results.begin(), results.end(),
                                     [](const NodeResult& result) { return !result.last.ok; });
    error.message = fmt::format("{} of {} calls failed; the first on {}: {}", count, results.size(),
                                failed->last.node, error.message);
  }
  Failed ended(std::move(error));
  ended.in_output = true;
  return tl::unexpected(std::move(ended));
}

Status write(const RunTrace& trace) {
  GODWIT_TRY(const RunTrace::Written written, trace.write());
  if (written.kept < written.spans) {
    fmt::print(stderr, "godwit: the trace has the last {} of {} events\n", written.kept,
               written.spans);
  }
  return {};
}

Ended run(const RunOptions& options, bool json) {
  const auto deadline = parse_duration(options.deadline);
  if (!deadline) {
    return tl::unexpected(Failed(
        Exit::usage, {ErrorCode::invalid_argument, "--deadline: " + deadline.error().message}));
  }
  catch_interrupts();
  GODWIT_TRY(RunTrace trace, RunTrace::create(options.trace));
  std::optional<code::Bundle> bundle;
  if (!is_source(options.file)) {
    // Mistakes that need no fleet are told without one.
    GODWIT_TRY(bundle,
               trace.timed("open bundle", [&] { return code::Bundle::open(options.file); }));
    GODWIT_CHECK(UntypedCall::create(*bundle, options.function, options.arguments));
  }
  GODWIT_TRY(const Fleet fleet, trace.timed("connect", [&] { return connect(options.connect); }));
  GODWIT_TRY(const std::vector<NodeHandle> nodes, choose_nodes(fleet, options.on));
  if (!bundle) {
    GODWIT_TRY(bundle, trace.timed("compile", [&] { return compile_for(options, fleet, nodes); }));
  }
  GODWIT_TRY(UntypedCall call, UntypedCall::create(*bundle, options.function, options.arguments));
  const auto results = call_all(call, nodes, *deadline, options.repeat, trace);
  json ? print_json(results) : print_text(results, options);
  GODWIT_CHECK(write(trace));
  return end_of(results);
}

}  // namespace

void add_run(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root,
      {.name = "run",
       .usage = "FILE FUNCTION [ARGUMENTS...] --on NODE|all|INDEX [OPTIONS] [-- ARGUMENTS...]",
       .summary = "Call a function of a bundle, or of a source, on nodes of a fleet",
       .examples = "godwit run kernels.gdw chase 0 1000 --on n2\n"
                   "godwit run kernels.cpp norm '[3, 4]' --on all --json\n"
                   "godwit run kernels.gdw scale 2.5 --on n0 -- -inf\n"
                   "godwit run kernels.gdw norm @samples.bin --on 0 --repeat 1000",
       .details = kRunDetails});
  const auto options = std::make_shared<RunOptions>();
  command.allow_extras();
  command.add_option("FILE", options->file, "A bundle (.gdw), or a source (.c, .cc, .cpp, .cxx)")
      ->required();
  command.add_option("FUNCTION", options->function, "The function's name")->required();
  command.add_option("--on", options->on, "Where: a node's name, id or index, or all")
      ->type_name("NODE")
      ->required();
  command.add_option("--deadline", options->deadline, "How long it may take: 200ms, 5s, 2m [60s]")
      ->type_name("TIME");
  command.add_option("--repeat", options->repeat, "Call so often, and sum up the latencies")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, kMaxRepeat));
  command.add_flag("--time", options->time, "Say on standard error how long the call took");
  command
      .add_option("--trace", options->trace,
                  "Write what this command did, and when, for Perfetto (ui.perfetto.dev)")
      ->type_name("FILE");
  add_json_flag(command, invocation);
  options->connect.add_to(command);
  options->source.add_to(command);
  command.callback([&command, &invocation, options] {
    invocation.takes_words = true;
    invocation.command = [&command, &invocation, options]() -> Ended {
      GODWIT_TRY(options->arguments, free_words(command, invocation));
      return run(*options, invocation.json);
    };
  });
}

}  // namespace godwit::cli
