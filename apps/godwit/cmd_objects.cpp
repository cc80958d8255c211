#include <fmt/format.h>

#include <algorithm>

#include "base/fail.hpp"
#include "command.hpp"
#include "command_line/byte_text.hpp"
#include "command_line/columns.hpp"
#include "connect.hpp"
#include "duration.hpp"
#include "object_facts.hpp"
#include "object_type.hpp"
#include "object_word.hpp"
#include "ref/home/service.hpp"
#include "trace/json_value.hpp"

namespace godwit::cli {
namespace {

struct ObjectsOrder {
  ConnectOptions connection;
  std::string node = "all";
};

// The objects of a home, the oldest first, and what it says of all of them.
struct HomeObjects {
  NodeHandle node;
  Result<std::vector<ObjectStatus>> objects;
  std::uint64_t count = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t held_bytes = 0;
  std::uint64_t budget_bytes = 0;
};

std::vector<HomeObjects> look(const Fleet& fleet, const std::vector<NodeHandle>& nodes) {
  const detail::ObjectDoor door(fleet.objects());
  const auto answers = fleet.status(nodes);
  std::vector<HomeObjects> all;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    HomeObjects home{.node = nodes[i],
                     .objects = door.list(nodes[i].id(), ref::ObjectService::kMaxListed)};
    if (home.objects) {
      std::ranges::stable_sort(*home.objects, std::greater(), &ObjectStatus::age);
      home.count = home.objects->size();
    }
    const auto status = answers[i] ? trace::JsonValue::parse(*answers[i])
                                   : Result<trace::JsonValue>(tl::unexpected(answers[i].error()));
    if (status) {
      const trace::JsonValue& objects = (*status)["objects"];
      home.count = std::max(home.count, objects["count"].count());
      home.used_bytes = objects["used_bytes"].count();
      home.held_bytes = objects["held_bytes"].count();
      home.budget_bytes = objects["budget_bytes"].count();
    }
    all.push_back(std::move(home));
  }
  return all;
}

void print_text(const Fleet& fleet, const std::vector<HomeObjects>& homes) {
  Columns columns({"HOME", "OBJECT", ">VERSION", ">SIZE", "TYPE", "LIFETIME", ">PINS", ">BORROWS",
                   "OWNER", ">READS", ">AGE", "STATE"});
  std::uint64_t count = 0;
  std::uint64_t listed = 0;
  std::uint64_t used = 0;
  std::uint64_t held = 0;
  std::uint64_t budget = 0;
  for (const HomeObjects& home : homes) {
    if (!home.objects) continue;
    for (const ObjectStatus& object : *home.objects) {
      columns.add({printable(home.node.name()), object.handle.object.short_hex(),
                   fmt::format("{}", object.handle.version),
                   object.pending ? "-" : byte_text(object.handle.size),
                   type_name_of(object.handle.type), lifetime_text(object),
                   fmt::format("{}", object.pins), fmt::format("{}", object.borrows),
                   object.owner == 0 ? "-" : process_name(fleet, object.owner),
                   fmt::format("{}", object.reads), format_age(object.age), state_text(object)});
    }
    count += home.count;
    listed += home.objects->size();
    used += home.used_bytes;
    held += home.held_bytes;
    budget += home.budget_bytes;
  }
  if (!columns.empty()) fmt::print("{}\n", columns.text());
  fmt::print("{} object{}{}; memory: {} in use, {} held of {}\n", count, count == 1 ? "" : "s",
             listed < count ? fmt::format(", of which {} are listed", listed) : "", byte_text(used),
             byte_text(held), byte_text(budget));
}

void print_json(const Fleet& fleet, const std::vector<HomeObjects>& homes) {
  trace::Json out;
  out.open('{').key("nodes").open('[');
  for (const HomeObjects& home : homes) {
    out.open('{').field("node", home.node.name());
    if (home.objects) {
      out.field("count", home.count).field("used_bytes", home.used_bytes);
      out.field("held_bytes", home.held_bytes).field("budget_bytes", home.budget_bytes);
      out.key("objects").open('[');
      for (const ObjectStatus& object : *home.objects) write_facts(out, fleet, object);
      out.close(']');
    } else {
      out.key("error").open('{').field("code", to_string(home.objects.error().code));
      out.field("message", home.objects.error().message).close('}');
    }
    out.close('}');
  }
  fmt::print("{}\n", out.close(']').close('}').text());
}

Ended objects(const ObjectsOrder& order, bool json) {
  GODWIT_TRY(const Fleet fleet, connect(order.connection));
  GODWIT_TRY(const std::vector<NodeHandle> nodes, choose_nodes(fleet, order.node));
  const std::vector<HomeObjects> homes = look(fleet, nodes);
  json ? print_json(fleet, homes) : print_text(fleet, homes);
  const auto silent = std::ranges::find_if(homes, [](const auto& home) { return !home.objects; });
  if (silent == homes.end()) return {};
  Failed failed({silent->objects.error().code,
                 fmt::format("{}: {}", silent->node.name(), silent->objects.error().message)});
  failed.in_output = true;
  return tl::unexpected(std::move(failed));
}

}  // namespace

void add_objects(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "objects",
             .usage = "[NODE|all|INDEX] [--json]",
             .summary = "List the objects that nodes are the homes of, and the memory they take",
             .examples = "godwit objects\ngodwit objects n2 --json",
             .details = "Memory is held in segments, and used again for later objects; "
                        "object_budget_mb limits\nwhat a node holds. Of more than 4,096 objects a "
                        "node lists as many."});
  const auto order = std::make_shared<ObjectsOrder>();
  command.add_option("NODE", order->node, "A node's name, id or index, or all [all]");
  order->connection.add_to(command);
  add_json_flag(command, invocation);
  command.callback([&invocation, order] {
    invocation.command = [&invocation, order] { return objects(*order, invocation.json); };
  });
}

}  // namespace godwit::cli
