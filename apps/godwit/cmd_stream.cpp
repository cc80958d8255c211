#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>

#include "base/fail.hpp"
#include "command.hpp"
#include "command_line/byte_text.hpp"
#include "command_line/columns.hpp"
#include "connect.hpp"
#include "duration.hpp"
#include "godwit/stream.hpp"
#include "stream_transfer.hpp"
#include "trace/json.hpp"

namespace godwit::cli {
namespace {

struct StreamOrder {
  ConnectOptions connection;
  std::string topic;
  std::string broker{};  // empty: the fleet's nodes are
  std::string node{};    // empty: wherever it is
  std::string group = "godwit";
  std::string from = "oldest";
  std::string wait{};
  std::string lease = "30s";
  std::string prefix{};
  std::optional<std::string> key{};
  std::uint64_t max_mb = 64;
  std::uint64_t replay = 0;
  SendOrder send{};
  ReceiveOrder receive{};
};

// The fleet is there as long as the broker needs it; none: nothing does.
struct Place {
  std::optional<Fleet> fleet;
  Broker broker;
};
using PlaceResult = tl::expected<Place, Failed>;

PlaceResult at_broker(const StreamOrder& order) {
  if (order.node.empty()) {
    GODWIT_TRY(Broker broker, Broker::connect(order.broker));
    return Place{std::nullopt, std::move(broker)};
  }
  GODWIT_TRY(Fleet fleet, connect(order.connection));
  GODWIT_TRY(const std::vector<NodeHandle> nodes, choose_nodes(fleet, order.node));
  GODWIT_TRY(Broker broker, Broker::connect(order.broker, nodes.front()));
  return Place{std::move(fleet), std::move(broker)};
}

// The broker or the node that was named, or the node that has the topic. With `make` the first one,
// if none has.
PlaceResult place_of(const StreamOrder& order, bool make) {
  if (!order.broker.empty()) return at_broker(order);
  GODWIT_TRY(Fleet fleet, connect(order.connection));
  GODWIT_TRY(const std::vector<NodeHandle> nodes,
             choose_nodes(fleet, order.node.empty() ? "all" : order.node));
  if (!order.node.empty()) return Place{std::move(fleet), nodes.front()};
  for (const NodeHandle& node : nodes) {
    if (topic_status(node, order.topic)) return Place{std::move(fleet), node};
  }
  if (make) return Place{std::move(fleet), nodes.front()};
  return tl::unexpected(Failed(
      {ErrorCode::not_found, fmt::format("no node has a topic '{}': `godwit stream ls` lists "
                                         "those there are",
                                         order.topic)}));
}

std::string state_of(const TopicStatus& topic) {
  if (!topic.ended) return "open";
  return topic.error == ErrorCode::none ? "ended" : std::string(to_string(topic.error));
}

void write(trace::Json& out, const TopicStatus& topic, const std::string& home) {
  out.field("topic", topic.name).field("home", home).field("items", topic.end);
  out.field("oldest", topic.oldest).field("bytes", topic.appended_bytes);
  out.field("kept_bytes", topic.kept_bytes).field("producers", topic.producers);
  out.field("group_count", topic.group_count).field("state", state_of(topic));
}

Ended ls(const StreamOrder& order, bool json) {
  std::optional<Fleet> fleet;
  std::vector<Broker> brokers;
  if (order.broker.empty()) {
    GODWIT_TRY(fleet, connect(order.connection));
    GODWIT_TRY(const std::vector<NodeHandle> nodes,
               choose_nodes(*fleet, order.node.empty() ? "all" : order.node));
    brokers.assign(nodes.begin(), nodes.end());
  } else {
    GODWIT_TRY(Broker broker, Broker::connect(order.broker));
    brokers.push_back(std::move(broker));
  }
  Columns columns({"TOPIC", "HOME", ">ITEMS", ">BYTES", ">KEPT", ">PRODUCERS", ">GROUPS", "STATE"});
  trace::Json out;
  out.open('{').key("topics").open('[');
  for (const Broker& broker : brokers) {
    GODWIT_TRY(const std::vector<TopicStatus> topics, list_topics(broker));
    for (const TopicStatus& topic : topics) {
      columns.add({printable(topic.name), printable(broker.name()), fmt::format("{}", topic.end),
                   byte_text(topic.appended_bytes), byte_text(topic.kept_bytes),
                   fmt::format("{}", topic.producers), fmt::format("{}", topic.group_count),
                   state_of(topic)});
      out.open('{');
      write(out, topic, broker.name());
      out.close('}');
    }
  }
  fmt::print("{}", json ? out.close(']').close('}').text() + "\n" : columns.text());
  return {};
}

Ended stat(const StreamOrder& order, bool json) {
  GODWIT_TRY(const Place place, place_of(order, false));
  GODWIT_TRY(const TopicStatus topic, topic_status(place.broker, order.topic));
  if (json) {
    trace::Json out;
    out.open('{');
    write(out, topic, place.broker.name());
    out.key("groups").open('[');
    for (const GroupStatus& group : topic.groups) {
      out.open('{').field("group", group.name).field("next", group.next);
      out.field("acked", group.acked).field("lag", group.lag).field("leased", group.leased);
      out.field("delivered", group.delivered).field("redelivered", group.redelivered);
      out.field("filtered", group.filtered).field("consumers", group.consumers).close('}');
    }
    fmt::print("{}\n", out.close(']').close('}').text());
    return {};
  }
  fmt::print(
      "topic '{}' at {}: {} items, {} in all, {} kept from offset {} on; {} producer{}; {}\n",
      printable(topic.name), printable(place.broker.name()), topic.end,
      byte_text(topic.appended_bytes), byte_text(topic.kept_bytes), topic.oldest, topic.producers,
      topic.producers == 1 ? "" : "s", state_of(topic));
  Columns columns(
      {"GROUP", ">CONSUMERS", ">ACKED", ">LAG", ">LEASED", ">DELIVERED", ">AGAIN", ">FILTERED"});
  for (const GroupStatus& group : topic.groups) {
    columns.add({printable(group.name), fmt::format("{}", group.consumers),
                 fmt::format("{}", group.acked), fmt::format("{}", group.lag),
                 fmt::format("{}", group.leased), fmt::format("{}", group.delivered),
                 fmt::format("{}", group.redelivered), fmt::format("{}", group.filtered)});
  }
  if (!columns.empty()) fmt::print("\n{}", columns.text());
  return {};
}

Ended send(const StreamOrder& order, bool json) {
  GODWIT_TRY(const Place place, place_of(order, true));
  SendOrder what = order.send;
  what.topic = order.topic;
  what.options.topic =
      TopicOptions{.max_bytes = order.max_mb << 20U, .replay = {.items = order.replay}};
  GODWIT_TRY(const Transferred sent, send_items(place.broker, what));
  if (!json) return {};
  trace::Json out;
  out.open('{').field("topic", order.topic).field("home", place.broker.name());
  out.field("items", sent.items).field("bytes", sent.bytes).field("closed", sent.ended);
  fmt::print("{}\n", out.close('}').text());
  return {};
}

tl::expected<StartAt, Failed> start_of(const std::string& from) {
  if (from == "oldest") return StartAt::oldest();
  if (from == "end") return StartAt::end();
  std::uint64_t offset = 0;
  const auto [stop, error] = std::from_chars(from.data(), from.data() + from.size(), offset);
  if (error == std::errc{} && stop == from.data() + from.size()) return StartAt::offset(offset);
  return tl::unexpected(
      Failed(Exit::usage, {ErrorCode::invalid_argument,
                           fmt::format("--from takes oldest, end or an offset, not '{}'", from)}));
}

Ended receive(const StreamOrder& order, bool json) {
  ReceiveOrder what = order.receive;
  GODWIT_TRY(what.options.start, start_of(order.from));
  GODWIT_TRY(what.options.lease, parse_duration(order.lease));
  if (!order.wait.empty()) {
    GODWIT_TRY(what.wait, parse_duration(order.wait));
  }
  what.options.filter = {.key_prefix = order.prefix, .key = order.key};
  if (what.count) {  // what is not wanted is not taken from others
    what.options.items =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(*what.count, 1, 1000));
    what.options.fetch_ahead = *what.count > 1000;
  }
  what.topic = order.topic;
  what.group = order.group;
  what.json = json;
  GODWIT_TRY(const Place place, place_of(order, true));
  GODWIT_TRY(const Transferred received, receive_items(place.broker, what));
  static_cast<void>(received);
  return {};
}

void print_done(const StreamOrder& order, std::string_view done) {
  trace::Json out;
  out.open('{').field("topic", order.topic).field("done", done).close('}');
  fmt::print("{}\n", out.text());
}

Ended close(const StreamOrder& order, bool json) {
  GODWIT_TRY(const Place place, place_of(order, false));
  GODWIT_TRY(auto producer, detail::StreamProducer::open(place.broker, order.topic, 0, {}));
  GODWIT_CHECK(producer.close());
  if (json) print_done(order, "closed");
  return {};
}

Ended rm(const StreamOrder& order, bool json) {
  GODWIT_TRY(const Place place, place_of(order, false));
  GODWIT_CHECK(order.group.empty() ? remove_topic(place.broker, order.topic)
                                   : remove_group(place.broker, order.topic, order.group));
  if (json) print_done(order, "removed");
  return {};
}

using StreamAction = Ended (*)(const StreamOrder&, bool json);

struct AddedStream {
  CLI::App& command;
  StreamOrder& order;
};

AddedStream add_to_stream(CLI::App& parent, Invocation& invocation, const CommandText& text,
                          StreamAction action) {
  CLI::App& command = add_command(parent, text);
  auto order = std::make_shared<StreamOrder>();
  order->connection.add_to(command);
  command.add_option("--on", order->node, "The topic's home: a node's name, id or index");
  command.add_option("--broker", order->broker,
                     "Where topics are instead of nodes, such as redis://host:6379; large items "
                     "are then objects at --on");
  add_json_flag(command, invocation);
  if (text.name != "ls") command.add_option("TOPIC", order->topic, "Its name")->required();
  command.callback([&invocation, order, action] {
    invocation.command = [&invocation, order, action] { return action(*order, invocation.json); };
  });
  return {command, *order};
}

void add_send(CLI::App& parent, Invocation& invocation) {
  const AddedStream added = add_to_stream(
      parent, invocation,
      {.name = "send",
       .usage = "TOPIC [FILE|-] [--key KEY] [--whole] [--close] [--max-mb N] [--replay N]",
       .summary = "Send the lines of a file, or all of it, as items",
       .examples = "journalctl -f | godwit stream send log\n"
                   "godwit stream send frames frame7.png --whole --key camera/7 --close",
       .details = "Items are strings, as std::string in C++. A topic that is full is waited for."},
      send);
  StreamOrder& order = added.order;
  added.command.add_option("FILE", order.send.file, "What to send; - is standard input")
      ->capture_default_str();
  added.command.add_option("--key", order.send.key, "Of each item; consumers select by it");
  added.command.add_flag("--whole", order.send.whole, "The file is one item");
  added.command.add_flag("--close", order.send.close, "No more will come, from anybody");
  added.command
      .add_option("--max-mb", order.max_mb, "How much a new topic keeps for its consumers")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20U))
      ->capture_default_str();
  added.command
      .add_option("--replay", order.replay,
                  "How many items a new topic keeps after all have acked them")
      ->capture_default_str();
}

void add_receive(CLI::App& parent, Invocation& invocation) {
  const AddedStream added = add_to_stream(
      parent, invocation,
      {.name = "recv",
       .usage = "TOPIC [--group NAME] [--from WHERE] [--count N] [--wait TIME] [--key KEY]",
       .summary = "Print items as they come, a line each, until the topic ends",
       .examples = "godwit stream recv log\n"
                   "godwit stream recv log --group audit --from 0 --prefix error/ --json\n"
                   "godwit stream recv frames --count 1 --raw > frame.png",
       .details = "Commands of one group share the items; each group gets all of them. An item "
                  "is acked when it has\nbeen printed. --wait 2s ends as deadline when nothing "
                  "comes for so long."},
      receive);
  StreamOrder& order = added.order;
  added.command.add_option("--group", order.group, "Whose items they are")->capture_default_str();
  added.command
      .add_option("--from", order.from, "Where a new group begins: oldest, end or an offset")
      ->capture_default_str();
  added.command.add_option("--count", order.receive.count, "How many, at most");
  added.command.add_option("--wait", order.wait, "For the next one; without it, until the end");
  added.command.add_option("--lease", order.lease, "After which others get what is not acked")
      ->capture_default_str();
  added.command.add_option("--key", order.key, "Only those of this key");
  added.command.add_option("--prefix", order.prefix, "Only those whose key begins so");
  added.command.add_flag("--raw", order.receive.raw, "The bytes alone, without line ends");
}

}  // namespace

void add_stream(CLI::App& root, Invocation& invocation) {
  CLI::App& command =
      add_command(root, {.name = "stream",
                         .usage = "ls|stat|send|recv|close|rm ...",
                         .summary = "Send, receive and look at streams of items (docs/streams.md)",
                         .examples = "godwit stream send log access.log\n"
                                     "godwit stream recv log --group audit\n"
                                     "godwit stream stat log"});
  command.require_subcommand(1);
  add_to_stream(command, invocation,
                {.name = "ls",
                 .usage = "[--on NODE] [--json]",
                 .summary = "List topics",
                 .examples = "godwit stream ls"},
                ls);
  add_to_stream(command, invocation,
                {.name = "stat",
                 .usage = "TOPIC [--json]",
                 .summary = "Tell how far a topic and each of its groups are",
                 .examples = "godwit stream stat log"},
                stat);
  add_send(command, invocation);
  add_receive(command, invocation);
  add_to_stream(command, invocation,
                {.name = "close",
                 .usage = "TOPIC",
                 .summary = "Say that no more items will come: consumers end after the last one",
                 .examples = "godwit stream close log"},
                close);
  const AddedStream removed =
      add_to_stream(command, invocation,
                    {.name = "rm",
                     .usage = "TOPIC [--group NAME]",
                     .summary = "Forget a topic and its items, or one group of it",
                     .examples = "godwit stream rm log\ngodwit stream rm log --group audit"},
                    rm);
  removed.order.group.clear();
  removed.command.add_option("--group", removed.order.group, "Only this group");
}

}  // namespace godwit::cli
