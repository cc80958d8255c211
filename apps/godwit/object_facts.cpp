#include "object_facts.hpp"

#include <fmt/format.h>

#include "base/ids.hpp"
#include "duration.hpp"
#include "object_type.hpp"
#include "object_word.hpp"

namespace godwit::cli {
namespace {

std::string_view name_of(Lifetime::Kind kind) {
  switch (kind) {
    case Lifetime::Kind::until_evicted: return "until_evicted";
    case Lifetime::Kind::lease: return "lease";
    case Lifetime::Kind::process: return "process";
    case Lifetime::Kind::readers: return "readers";
  }
  return "unknown";
}

double in_ms(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

}  // namespace

std::string lifetime_text(const ObjectStatus& object) {
  switch (object.lifetime) {
    case Lifetime::Kind::until_evicted: return "until evicted";
    case Lifetime::Kind::lease:
      return object.time_left ? fmt::format("lease, {} left", format_age(*object.time_left))
                              : "lease";
    case Lifetime::Kind::process: return "its process";
    case Lifetime::Kind::readers:
      return fmt::format("{} reader{}", object.readers_left, object.readers_left == 1 ? "" : "s");
  }
  return "unknown";
}

std::string state_text(const ObjectStatus& object) {
  std::string text = object.pending     ? "promised, and not there yet"
                     : object.spilled   ? "on its home's disk"
                     : object.elsewhere ? "in a channel"
                                        : "in memory";
  if (object.persistent) text += ", kept in a file";
  if (object.pinned) text += ", pinned";
  if (object.borrowed_for_writing) text += ", borrowed for writing";
  return text;
}

void write_facts(trace::Json& out, const Fleet& fleet, const ObjectStatus& object) {
  const Handle& handle = object.handle;
  out.open('{').field("id", handle.object.hex()).field("version", handle.version);
  out.key("size").raw(object.pending ? "null" : fmt::format("{}", handle.size));
  out.field("type", type_name_of(handle.type)).field("type_hash", to_hex(handle.type));
  out.field("home", process_name(fleet, handle.home)).field("home_id", to_hex(handle.home));
  out.field("lifetime", name_of(object.lifetime));
  if (object.time_left) out.field("time_left_ms", in_ms(*object.time_left));
  if (object.lifetime == Lifetime::Kind::readers) out.field("readers_left", object.readers_left);
  out.key("owner");
  object.owner != 0 ? out.value(to_hex(object.owner)) : out.raw("null");
  out.field("pins", object.pins).field("borrows", object.borrows);
  out.field("borrowed_for_writing", object.borrowed_for_writing).field("pinned", object.pinned);
  out.field("pending", object.pending).field("persistent", object.persistent);
  out.field("spilled", object.spilled).field("elsewhere", object.elsewhere);
  if (!object.channel.empty()) out.field("channel", object.channel);
  out.field("reads", object.reads);
  out.field("age_ms", in_ms(object.age)).close('}');
}

}  // namespace godwit::cli
