#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "command.hpp"
#include "command_line/transfer_bar.hpp"
#include "connect.hpp"
#include "duration.hpp"
#include "interrupt.hpp"
#include "object_source.hpp"
#include "object_type.hpp"
#include "object_word.hpp"
#include "ref/access/access.hpp"
#include "trace/json.hpp"

namespace godwit::cli {
namespace {

using std::chrono::steady_clock;

// Within so long the fleet knows a name that it was told.
constexpr std::chrono::seconds kNameHeardWithin{5};

constexpr std::string_view kPutDetails =
    "The handle is all it takes to use the object, from any process of the fleet: with `godwit\n"
    "get`, or in a program as a Ref. Without a lifetime the object stays until it is evicted, or\n"
    "its home ends. The type is what a program has to ask for: bytes is Ref<std::byte[]>, str\n"
    "(--text) Ref<std::string>, list<f64> Ref<double[]>; the file has its bytes as they are in\n"
    "memory, of types that are neither plain nor lists of plain elements as msgpack\n"
    "(docs/types.md).";

struct PutOrder {
  ConnectOptions connection;
  std::string file;
  std::string on;
  std::string name;
  std::string lease;
  std::uint32_t readers = 0;
  bool hold = false;
  bool persist = false;
  std::string channel;
  std::vector<std::string> tags;
  std::string type = "bytes";
  bool text = false;
};

tl::expected<ref::NewObject, Failed> terms_of(const PutOrder& order, const code::Type& type) {
  ref::NewObject object{.type = code::type_hash(type.text()), .persist = order.persist};
  if (!order.lease.empty()) {
    const auto time = parse_duration(order.lease);
    if (!time) {
      return tl::unexpected(usage("--lease: " + time.error().message));
    }
    object.lifetime = {.kind = ref::LifetimeKind::lease, .lease = *time};
  } else if (order.readers > 0) {
    object.lifetime = {.kind = ref::LifetimeKind::readers, .readers = order.readers};
  } else if (order.hold) {
    object.lifetime = {.kind = ref::LifetimeKind::holder};
  }
  return object;
}

tl::expected<NodeHandle, Failed> home_of(const Fleet& fleet, const std::string& on) {
  if (on.empty()) {
    if (!fleet.nodes().empty()) return fleet.node(0);
    return tl::unexpected(Failed({ErrorCode::unreachable, "no node of the fleet is up"}));
  }
  GODWIT_TRY(const std::vector<NodeHandle> nodes, choose_nodes(fleet, on));
  if (nodes.size() == 1) return nodes.front();
  return tl::unexpected(usage("--on: an object has one home; name one node"));
}

// This process is about to end, and with it what only it knows: others have to have heard.
Status give_name(Fleet& fleet, const PutOrder& order, const Handle& handle) {
  const std::string key = std::string(kObjectKeys) + order.name;
  const std::string text = handle.to_text();
  GODWIT_CHECK(fleet.put_name(key, text));
  const auto other = connect(order.connection);
  if (!other) return tl::unexpected(other.error().error);
  const auto until = steady_clock::now() + kNameHeardWithin;
  while (other->find_name(key).value_or("") != text) {
    if (steady_clock::now() > until) {
      return fail(ErrorCode::deadline,
                  "the object is there, with the handle {}, but the fleet has not heard of its "
                  "name '{}' within {} s",
                  text, order.name, kNameHeardWithin.count());
    }
    ::poll(nullptr, 0, 5);
  }
  return {};
}

// A home that is full, or keeps nothing in files, works as it should.
Failed refused(const Error& error) {
  const bool by_choice =
      error.code == ErrorCode::resource_exhausted || error.code == ErrorCode::unsupported;
  return by_choice ? Failed(Exit::rejected, error) : Failed(error);
}

void print_put(const PutOrder& order, const Handle& handle, const std::string& home, bool json) {
  if (!json) {
    fmt::print("{}\n", handle.to_text());
  } else {
    trace::Json out;
    out.open('{').field("handle", handle.to_text()).field("id", handle.object.hex());
    out.field("version", handle.version).field("size", handle.size);
    out.field("type", type_name_of(handle.type)).field("type_hash", to_hex(handle.type));
    out.field("home", home).field("home_id", to_hex(handle.home));
    if (!order.name.empty()) out.field("name", order.name);
    fmt::print("{}\n", out.close('}').text());
  }
  std::fflush(stdout);
}

Ended put(const PutOrder& order, bool json) {
  if (!order.name.empty()) GODWIT_CHECK(check_object_name(order.name));
  GODWIT_TRY(const code::Type type, object_type(order.text ? "str" : order.type));
  GODWIT_TRY(const ref::NewObject object, terms_of(order, type));
  catch_interrupts();
  GODWIT_TRY(const ObjectSource source, ObjectSource::open(order.file));
  GODWIT_CHECK(check_size(type, source.size()));
  GODWIT_TRY(Fleet fleet, connect(order.connection));
  GODWIT_TRY(const NodeHandle home, home_of(fleet, order.on));
  TransferBar bar("put", source.size());
  bar.show(0);
  const ref::Progress progress = [&bar](std::uint64_t bytes) { bar.show(bytes); };
  const auto handle = fleet.objects().put({.home = NodeId{home.id()},
                                           .object = object,
                                           .parts = source.parts(),
                                           .progress = &progress,
                                           .channel = order.channel,
                                           .tags = order.tags});
  if (!handle) return tl::unexpected(refused(handle.error()));
  bar.finish(handle->size);
  if (!order.name.empty()) GODWIT_CHECK(give_name(fleet, order, *handle));
  print_put(order, *handle, home.name(), json);
  while (order.hold && !interrupted()) ::poll(nullptr, 0, 100);
  return {};
}

void add_options(CLI::App& command, PutOrder& order) {
  command.add_option("FILE", order.file, "What to put; - is standard input")->required();
  command.add_option("--on", order.on, "Its home: a node's name, id or index [the first]")
      ->type_name("NODE");
  command
      .add_option("--name", order.name,
                  "A name that can stand for the handle; one that is taken names this object now")
      ->type_name("NAME");
  auto* const lease =
      command.add_option("--lease", order.lease, "Keep it for so long: 60s, 10m, 2h")
          ->type_name("TIME");
  auto* const readers =
      command
          .add_option("--readers", order.readers, "Keep it until it has been read so many times")
          ->type_name("N")
          ->check(CLI::Range(1U, UINT32_MAX));
  auto* const hold =
      command.add_flag("--hold", order.hold, "Keep it as long as this command runs: until Ctrl-C");
  readers->excludes(lease);
  hold->excludes(lease)->excludes(readers);
  command.add_flag("--persist", order.persist, "In a file of its home's, so that it outlives that");
  command
      .add_option("--channel", order.channel,
                  "Where its bytes go: a channel's name, or memory [as the channels' policies say]")
      ->type_name("NAME");
  command.add_option("--tag", order.tags, "What policies may ask for; may be repeated")
      ->type_name("TAG");
  auto* const type =
      command.add_option("--type", order.type, "What it is [bytes]")->type_name("TYPE");
  command.add_flag("--text", order.text, "The same as --type str")->excludes(type);
  order.connection.add_to(command);
}

}  // namespace

void add_put(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "put",
             .usage = "FILE|- [--on NODE] [--name NAME] [--lease TIME | --readers N | --hold] ...",
             .summary = "Make an object of a file's content, and print its handle",
             .examples = "godwit put model.bin --on n2 --lease 10m\n"
                         "date | godwit put - --text --name now\n"
                         "godwit put samples.f64 --type 'list<f64>' --readers 3 --json",
             .details = kPutDetails});
  const auto order = std::make_shared<PutOrder>();
  add_options(command, *order);
  add_json_flag(command, invocation);
  command.callback([&invocation, order] {
    invocation.command = [&invocation, order] { return put(*order, invocation.json); };
  });
}

}  // namespace godwit::cli
