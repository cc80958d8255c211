#include <fmt/format.h>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "command.hpp"
#include "command_line/byte_text.hpp"
#include "command_line/columns.hpp"
#include "connect.hpp"
#include "duration.hpp"
#include "object_facts.hpp"
#include "object_route.hpp"
#include "object_type.hpp"
#include "object_word.hpp"

namespace godwit::cli {
namespace {

struct ExplainOrder {
  ConnectOptions connection;
  std::string object;
  bool measure = false;
};

std::string addresses_of(const Fleet& fleet, std::uint64_t id) {
  for (const NodeDescription& node : fleet.describe()) {
    if (node.id == id) return printable(fmt::format("{}", fmt::join(node.addresses, " ")));
  }
  return {};
}

void print_text(const Fleet& fleet, const ObjectRoute& route) {
  const Handle& handle = route.object.handle;
  fmt::print("object    {}, version {}, {}, {}\n", handle.object.short_hex(), handle.version,
             route.object.pending ? "of no size yet" : byte_text(handle.size),
             type_name_of(handle.type));
  fmt::print("home      {} ({}), {}\n", process_name(fleet, handle.home), to_hex(handle.home),
             addresses_of(fleet, handle.home));
  fmt::print("link      {}\n", route.transport);
  if (route.object.pending) {
    fmt::print("resolve   not now: {}\n", route.why);
    return;
  }
  fmt::print("resolve   by {}: {}\n", to_string(route.by), route.why);
  fmt::print("{:<10}{}{}\n", route.located ? "locate" : "ask", format_duration(route.ask),
             route.located ? "" : " (not a locate, which counts as a reader)");
  if (route.decision) {
    for (const ResolvePath& path : route.decision->paths) {
      fmt::print("path      {}: {}{}{}{}\n", path.name,
                 path.possible ? fmt::format("{:.0f} us expected", path.expected_us) : "no",
                 path.measured != 0 ? fmt::format(", {:.0f} us the last time", path.last_us) : "",
                 path.why.empty() ? "" : "; ", path.why);
    }
  }
  if (!route.measured) return;
  // What is mapped goes no way at all.
  const std::string rate = route.measured->by == ResolvedBy::mapping
                               ? ""
                               : ", " + rate_text(handle.size, us(route.measured->later) / 1e6);
  fmt::print("measured  by {}: first {}, later {}{}\n", to_string(route.measured->by),
             format_duration(route.measured->first), format_duration(route.measured->later), rate);
}

void print_json(const Fleet& fleet, const ObjectRoute& route) {
  trace::Json out;
  out.open('{').key("object");
  write_facts(out, fleet, route.object);
  out.field("transport", route.transport);
  out.key("by");
  route.object.pending ? out.raw("null") : out.value(to_string(route.by));
  out.field("why", route.why);
  if (!route.object.pending) out.field("located", route.located).field("ask_us", us(route.ask));
  if (route.decision) {
    out.key("paths").open('[');
    for (const ResolvePath& path : route.decision->paths) {
      out.open('{').field("name", path.name).field("possible", path.possible);
      out.field("expected_us", path.expected_us).field("measured", path.measured);
      out.field("last_us", path.last_us).field("why", path.why).close('}');
    }
    out.close(']');
  }
  if (route.measured) {
    out.key("measured").open('{').field("by", to_string(route.measured->by));
    out.field("first_us", us(route.measured->first));
    out.field("later_us", us(route.measured->later)).close('}');
  }
  fmt::print("{}\n", out.close('}').text());
}

Ended explain(const ExplainOrder& order, bool json) {
  GODWIT_TRY(const ObjectWord word, ObjectWord::parse(order.object));
  GODWIT_TRY(const Fleet fleet, connect(order.connection));
  GODWIT_TRY(const Handle handle, word.find(fleet));
  GODWIT_TRY(const ObjectRoute route, explain_route(fleet, handle, order.measure));
  json ? print_json(fleet, route) : print_text(fleet, route);
  return {};
}

}  // namespace

void add_explain(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root,
      {.name = "explain",
       .usage = "HANDLE|NAME [--measure] [--json]",
       .summary = "Say where an object is and how it would be reached from here, and why",
       .examples = "godwit explain gdw://AQAP...\ngodwit explain samples --measure",
       .details = "A locate is the question to the home that a resolve begins with, unless "
                  "this process has the object\nor finds it in memory that the home shows; the "
                  "time is the median of 31, which the home counts as\nreads. With --measure "
                  "the object is resolved, too."});
  const auto order = std::make_shared<ExplainOrder>();
  command.add_option("OBJECT", order->object, "Its handle, or its name")->required();
  command.add_flag("--measure", order->measure, "Resolve it a few times, and say what it took");
  order->connection.add_to(command);
  add_json_flag(command, invocation);
  command.callback([&invocation, order] {
    invocation.command = [&invocation, order] { return explain(*order, invocation.json); };
  });
}

}  // namespace godwit::cli
