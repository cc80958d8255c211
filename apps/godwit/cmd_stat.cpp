#include <fmt/format.h>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "command.hpp"
#include "command_line/byte_text.hpp"
#include "connect.hpp"
#include "duration.hpp"
#include "object_facts.hpp"
#include "object_type.hpp"
#include "object_word.hpp"

namespace godwit::cli {
namespace {

struct StatOrder {
  ConnectOptions connection;
  std::string object;
};

void print_text(const Fleet& fleet, const Handle& asked, const ObjectStatus& object) {
  const Handle& newest = object.handle;
  const std::string older = asked.version == newest.version
                                ? ""
                                : fmt::format(" (the handle is of version {})", asked.version);
  fmt::print("object     {}\n", newest.object.hex());
  fmt::print("version    {}{}\n", newest.version, older);
  if (!object.pending) {
    fmt::print("size       {} bytes, {}\n", newest.size, byte_text(newest.size));
  }
  fmt::print("type       {}\n", type_name_of(newest.type));
  fmt::print("home       {} ({})\n", process_name(fleet, newest.home), to_hex(newest.home));
  fmt::print("rights     {}\n", to_string(asked.rights));
  fmt::print("state      {}\n", state_text(object));
  if (!object.channel.empty()) fmt::print("channel    {}\n", object.channel);
  fmt::print("lifetime   {}\n", lifetime_text(object));
  fmt::print("owner      {}\n", object.owner == 0 ? "nobody" : process_name(fleet, object.owner));
  fmt::print("in use     pins {}, borrows {}\n", object.pins, object.borrows);
  fmt::print("reads      {}\n", object.reads);
  fmt::print("age        {}\n", format_age(object.age));
}

Ended stat(const StatOrder& order, bool json) {
  GODWIT_TRY(const ObjectWord word, ObjectWord::parse(order.object));
  GODWIT_TRY(const Fleet fleet, connect(order.connection));
  GODWIT_TRY(const Handle handle, word.find(fleet));
  GODWIT_TRY(const ObjectStatus object, detail::ObjectDoor(fleet.objects()).status(handle));
  if (!json) {
    print_text(fleet, handle, object);
    return {};
  }
  trace::Json out;
  out.open('{').field("handle", handle.to_text()).field("rights", to_string(handle.rights));
  out.key("object");
  write_facts(out, fleet, object);
  fmt::print("{}\n", out.close('}').text());
  return {};
}

}  // namespace

void add_stat(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "stat",
             .usage = "HANDLE|NAME [--json]",
             .summary = "Say what an object's home knows of it: size, lifetime, who uses it",
             .examples = "godwit stat gdw://AQAP...\ngodwit stat samples --json",
             .details = "Asking does not count as reading. Of an object with several versions it "
                        "speaks of the newest."});
  const auto order = std::make_shared<StatOrder>();
  command.add_option("OBJECT", order->object, "Its handle, or its name")->required();
  order->connection.add_to(command);
  add_json_flag(command, invocation);
  command.callback([&invocation, order] {
    invocation.command = [&invocation, order] { return stat(*order, invocation.json); };
  });
}

}  // namespace godwit::cli
