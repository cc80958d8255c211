#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <map>
#include <optional>

#include "base/fail.hpp"
#include "code/types/text.hpp"
#include "command.hpp"
#include "command_line/columns.hpp"
#include "connect.hpp"
#include "free_words.hpp"
#include "godwit/explain.hpp"
#include "ops/region_host.hpp"
#include "region_elements.hpp"
#include "trace/json.hpp"
#include "trace/json_value.hpp"

namespace godwit::cli {
namespace {

// A client that has just joined hears of regions within a few rounds of gossip.
constexpr std::chrono::seconds kRegionHeardWithin{5};

struct RegionOrder {
  ConnectOptions connection;
  std::string name;
  std::uint64_t index = 0;
  std::uint64_t count = 1;
  std::vector<std::string> values{};
  std::uint64_t elements = 0;
  std::uint64_t capacity = 0;
  std::string type = "u64";
  std::string sharding = "blocks";
  bool in_files = false;
  std::string operation = "chase";
  std::optional<std::uint64_t> amount{};
  std::uint32_t hops = 2;
  std::string mechanism = "automatic";
};

constexpr std::uint64_t kUsualSteps = 64;
// Of one get, which has them all in memory before it prints the first.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

// What was done, for programs.
void print_done(const RegionOrder& order, std::string_view done) {
  trace::Json out;
  out.open('{').field("name", order.name).field("done", done).close('}');
  fmt::print("{}\n", out.text());
}

template <class Attach>
auto attach_soon(const Attach& attach) {
  const auto until = std::chrono::steady_clock::now() + kRegionHeardWithin;
  while (true) {
    auto region = attach();
    if (region || region.error().code != ErrorCode::not_found) return region;
    if (std::chrono::steady_clock::now() > until) return region;
    ::poll(nullptr, 0, 5);
  }
}

// A region of elements of any type.
Result<detail::RegionHandle> attach_any(const Fleet& fleet, const std::string& name) {
  return attach_soon([&]() -> Result<detail::RegionHandle> {
    GODWIT_TRY(const auto known, fleet.regions().table().find_region(name));
    const wire::RegionDescriptor& descriptor = known->descriptor;
    return detail::RegionHandle::attach(fleet.regions(), name,
                                        {descriptor.type, descriptor.element_size});
  });
}

Ended ls(const RegionOrder& order, bool json) {
  GODWIT_TRY(const Fleet fleet, connect(order.connection));
  if (fleet.nodes().empty()) {
    return tl::unexpected(Failed({ErrorCode::unreachable, "no node of the fleet is up"}));
  }
  GODWIT_TRY(const std::string text, fleet.status(fleet.node(0)));
  GODWIT_TRY(const auto status, trace::JsonValue::parse(text));
  Columns columns({"NAME", "TYPE", ">ELEMENTS", ">CAPACITY", ">SHARDS", ">LOST", "STATE"});
  trace::Json out;
  out.open('{').key("regions").open('[');
  for (const trace::JsonValue& region : status["regions"]["known"].items()) {
    const std::string elements = fmt::format("{}", region["elements"].count());
    const std::string shards = fmt::format("{}", region["shards"].count());
    const std::string lost = fmt::format("{}", region["shards_lost"].count());
    columns.add({printable(region["name"].text()), printable(region["type"].text()), elements,
                 fmt::format("{}", region["capacity"].count()), shards, lost,
                 printable(region["state"].text())});
    out.open('{').field("name", region["name"].text()).field("type", region["type"].text());
    out.key("elements").raw(elements).key("shards").raw(shards).key("shards_lost").raw(lost);
    out.field("state", region["state"].text()).close('}');
  }
  out.close(']').close('}');
  fmt::print("{}", json ? out.text() + "\n" : columns.text());
  return {};
}

Ended create(const RegionOrder& order, bool json) {
  GODWIT_TRY(Fleet fleet, connect(order.connection));
  GODWIT_TRY(const code::Type type, element_type(order.type));
  GODWIT_TRY(const Sharding sharding, sharding_named(order.sharding));
  GODWIT_TRY(const detail::RegionHandle region,
             detail::RegionHandle::create(fleet.regions(), order.name,
                                          {type.text(), static_cast<std::uint32_t>(type.size)},
                                          {.elements = order.elements,
                                           .capacity = order.capacity,
                                           .sharding = sharding,
                                           .in_files = order.in_files}));
  // The name is this process's news until others have it, and this process is about to end.
  GODWIT_TRY(const Fleet other, connect(order.connection));
  GODWIT_TRY(const detail::RegionHandle seen, attach_any(other, order.name));
  const std::size_t shards = seen.describe().shards.size();
  if (!json) {
    fmt::print("region '{}': {} elements on {} nodes\n", order.name, region.size(), shards);
    return {};
  }
  trace::Json out;
  out.open('{').field("name", order.name).field("elements", region.size());
  out.field("shards", shards).field("in_files", order.in_files).close('}');
  fmt::print("{}\n", out.text());
  return {};
}

Ended drop(const RegionOrder& order, bool json) {
  GODWIT_TRY(const Fleet fleet, connect(order.connection));
  GODWIT_TRY(detail::RegionHandle region, attach_any(fleet, order.name));
  GODWIT_CHECK(region.drop());
  if (json) print_done(order, "dropped");
  return {};
}

Ended get(const RegionOrder& order, bool json) {
  GODWIT_TRY(Fleet fleet, connect(order.connection));
  GODWIT_TRY(const detail::RegionHandle region, attach_any(fleet, order.name));
  GODWIT_TRY(const code::Type type, element_type(region.describe().type));
  if (order.count > kMostBytes / type.size) {
    return tl::unexpected(Failed(
        {ErrorCode::too_large, fmt::format("{} elements of {} bytes are more than the {} MiB "
                                           "of one get; ask for fewer",
                                           order.count, type.size, kMostBytes >> 20U)}));
  }
  std::vector<std::byte> elements(order.count * type.size);
  const auto read = region.read(order.index, elements).finish();
  if (!read) return tl::unexpected(Failed(error_of(read.error())));
  trace::Json out;
  out.open('{').field("name", order.name).field("index", order.index).key("values").open('[');
  for (std::uint64_t i = 0; i < order.count; ++i) {
    const Bytes element = Bytes(elements).subspan(i * type.size, type.size);
    if (json) {
      GODWIT_TRY(const std::string value, code::format_json(type, element));
      out.raw(value);
    } else {
      GODWIT_TRY(const std::string value, code::format_text(type, element));
      fmt::print("{}\n", value);
    }
  }
  out.close(']').close('}');
  if (json) fmt::print("{}\n", out.text());
  return {};
}

Ended put(const RegionOrder& order, bool json) {
  GODWIT_TRY(Fleet fleet, connect(order.connection));
  GODWIT_TRY(const detail::RegionHandle region, attach_any(fleet, order.name));
  GODWIT_TRY(const code::Type type, element_type(region.describe().type));
  GODWIT_TRY(const Buffer elements, elements_of(type, order.values));
  const auto stored = region.write(order.index, elements.view()).finish();
  if (!stored) return tl::unexpected(Failed(error_of(stored.error())));
  if (json) print_done(order, "stored");
  return {};
}

const std::map<std::string, ops::Mechanism> kMechanisms{
    {"automatic", ops::Mechanism::automatic},
    {"direct", ops::Mechanism::direct},
    {"get", ops::Mechanism::get},
    {"code", ops::Mechanism::code},
};

Ended explain(const RegionOrder& order, bool json) {
  GODWIT_TRY(const Fleet fleet, connect(order.connection));
  GODWIT_TRY(const detail::RegionHandle region, attach_any(fleet, order.name));
  const ops::Operation operation = *ops::operation_named(order.operation);
  const bool counts_steps =
      operation != ops::Operation::reduce && operation != ops::Operation::tree_find;
  const ops::Decision decision =
      ops::explain(region,
                   {.operation = operation,
                    .amount = order.amount.value_or(counts_steps ? kUsualSteps : 0),
                    .hops = order.hops},
                   kMechanisms.at(order.mechanism));
  if (!json) {
    fmt::print("{}", ops::to_text(decision));
    return {};
  }
  const auto figure = [](std::optional<double> ns) {
    return ns ? fmt::format("{:.1f}", *ns) : "null";
  };
  trace::Json out;
  out.open('{').field("operation", ops::to_string(decision.operation));
  out.field("steps", decision.steps).field("chosen", ops::to_string(decision.chosen));
  out.field("why", decision.why).key("candidates").open('[');
  for (const ops::Candidate& candidate : decision.candidates) {
    out.open('{').field("mechanism", ops::to_string(candidate.mechanism));
    out.field("possible", candidate.possible);
    out.key("expected_ns").raw(figure(candidate.expected_ns)).close('}');
  }
  out.close(']').key("shards").open('[');
  for (const ops::ShardCost& shard : decision.shards) {
    out.open('{').field("shard", shard.shard).field("node", shard.node);
    out.field("mapped", shard.mapped).field("lost", shard.lost);
    out.key("load_ns").raw(figure(shard.load_ns)).key("get_ns").raw(figure(shard.get_ns));
    out.key("hop_ns").raw(figure(shard.hop_ns)).key("work_ns").raw(figure(shard.work_ns));
    out.key("pull_byte_ns").raw(figure(shard.pull_byte_ns)).close('}');
  }
  out.close(']').close('}');
  fmt::print("{}\n", out.text());
  return {};
}

// CLI11 takes -1 for a large unsigned number, and its own check speaks of floating point.
const CLI::Validator kWholeNumber(
    [](const std::string& text) {
      const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
      return digits && !text.empty() ? std::string()
                                     : fmt::format("'{}' is no whole number from 0 up", text);
    },
    "");

using RegionAction = Ended (*)(const RegionOrder&, bool json);

// A subcommand; what it takes besides is added to it.
std::pair<CLI::App*, std::shared_ptr<RegionOrder>> add_to_region(CLI::App& parent,
                                                                 Invocation& invocation,
                                                                 const CommandText& text,
                                                                 RegionAction action) {
  CLI::App& command = add_command(parent, text);
  auto order = std::make_shared<RegionOrder>();
  order->connection.add_to(command);
  add_json_flag(command, invocation);
  if (text.name != "ls") command.add_option("NAME", order->name, "The region")->required();
  command.callback([&invocation, order, action] {
    invocation.command = [&invocation, order, action] { return action(*order, invocation.json); };
  });
  return {&command, order};
}

}  // namespace

void add_region(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "region",
             .usage = "ls|create|drop|get|put|explain ...",
             .summary = "Look at and change the memory that nodes expose (docs/regions.md)",
             .examples = "godwit region create list 1000\n"
                         "godwit region put list 7 42\n"
                         "godwit region explain list --steps 64"});
  command.require_subcommand(1);
  add_to_region(
      command, invocation,
      {.name = "ls", .usage = "", .summary = "List regions", .examples = "godwit region ls"}, ls);
  const auto made =
      add_to_region(command, invocation,
                    {.name = "create",
                     .usage = "NAME ELEMENTS [--type TYPE] [--sharding HOW] [--in-files]",
                     .summary = "Make a region, zeroed, over all nodes",
                     .examples = "godwit region create list 1000\n"
                                 "godwit region create grid 4096 --type 'array<f64, 3>' "
                                 "--sharding cyclic:64"},
                    create);
  made.first->add_option("--type", made.second->type, "Of the elements (docs/types.md)")
      ->capture_default_str();
  made.first
      ->add_option("--sharding", made.second->sharding,
                   "How they are dealt out: blocks, cyclic, cyclic:CHUNK or hashed")
      ->capture_default_str();
  made.first->add_option("--capacity", made.second->capacity, "How far it can grow; 0: not at all")
      ->capture_default_str();
  made.first->add_flag("--in-files", made.second->in_files,
                       "In files of the nodes' region_dir; what is there already is kept");
  made.first->add_option("ELEMENTS", made.second->elements, "How many")
      ->check(kWholeNumber)
      ->required();
  add_to_region(command, invocation,
                {.name = "drop",
                 .usage = "NAME",
                 .summary = "End a region and give its memory back",
                 .examples = "godwit region drop list"},
                drop);
  const auto got = add_to_region(command, invocation,
                                 {.name = "get",
                                  .usage = "NAME INDEX [COUNT]",
                                  .summary = "Print elements of a region, one on a line",
                                  .examples = "godwit region get list 7\n"
                                              "godwit region get list 0 10"},
                                 get);
  got.first->add_option("INDEX", got.second->index, "The first element")
      ->check(kWholeNumber)
      ->required();
  got.first->add_option("COUNT", got.second->count, "How many")
      ->check(kWholeNumber)
      ->capture_default_str();
  const auto stored =
      add_to_region(command, invocation,
                    {.name = "put",
                     .usage = "NAME INDEX VALUE... [-- VALUE...]",
                     .summary = "Set elements of a region, one after the other",
                     .examples = "godwit region put list 7 42\n"
                                 "godwit region put grid 0 '[1, 0.5, 0]' '[2, 0.5, 0]'"},
                    put);
  stored.first->add_option("INDEX", stored.second->index, "The first element")
      ->check(kWholeNumber)
      ->required();
  stored.first->allow_extras();
  stored.first->callback([&invocation, app = stored.first, order = stored.second] {
    invocation.takes_words = true;
    invocation.command = [&invocation, app, order]() -> Ended {
      GODWIT_TRY(order->values, free_words(*app, invocation));
      if (order->values.empty()) {
        return tl::unexpected(usage("put takes at least one VALUE"));
      }
      return put(*order, invocation.json);
    };
  });
  const auto explained = add_to_region(
      command, invocation,
      {.name = "explain",
       .usage = "NAME [--op OPERATION] [--steps N] [--by MECHANISM]",
       .summary = "Measure what its shards cost from here, and say how an operation would go",
       .examples = "godwit region explain list --steps 64\n"
                   "godwit region explain list --op reduce"},
      explain);
  explained.first
      ->add_option("--op", explained.second->operation,
                   "chase, get, gather, list_find, tree_find, hash_get, k_hop or reduce")
      ->check(CLI::IsMember(
          {"chase", "get", "gather", "list_find", "tree_find", "hash_get", "k_hop", "reduce"}))
      ->capture_default_str();
  explained.first->add_option("--steps", explained.second->amount,
                              "Steps of a chase, nodes of a list, levels of a tree, elements, or "
                              "vertices; 64, or as many as the region tells");
  explained.first->add_option("--hops", explained.second->hops, "Of a k_hop")
      ->capture_default_str();
  explained.first->add_option("--by", explained.second->mechanism, "What it would cost in this way")
      ->check(CLI::IsMember({"automatic", "direct", "get", "code"}))
      ->capture_default_str();
}

}  // namespace godwit::cli
