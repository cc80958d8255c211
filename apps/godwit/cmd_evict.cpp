#include <fmt/format.h>

#include <optional>
#include <vector>

#include "base/fail.hpp"
#include "command.hpp"
#include "connect.hpp"
#include "godwit/detail/object_door.hpp"
#include "object_word.hpp"
#include "trace/json.hpp"

namespace godwit::cli {
namespace {

struct EvictOrder {
  ConnectOptions connection;
  std::vector<std::string> objects;
};

// A name of an object that is gone names nothing any more.
Status forget_name(Fleet& fleet, const ObjectWord& object, const Handle& handle) {
  const std::string key = std::string(kObjectKeys) + object.text();
  // By now it may name another one.
  if (fleet.find_name(key).value_or("") != handle.to_text()) return {};
  return fleet.erase_name(key);
}

void print_json(const std::vector<ObjectWord>& objects, const std::vector<Status>& ended) {
  trace::Json out;
  out.open('{').key("objects").open('[');
  for (std::size_t i = 0; i < objects.size(); ++i) {
    out.open('{').field("object", objects[i].text()).field("evicted", ended[i].has_value());
    if (!ended[i]) {
      out.field("code", to_string(ended[i].error().code));
      out.field("message", ended[i].error().message);
    }
    out.close('}');
  }
  fmt::print("{}\n", out.close(']').close('}').text());
}

// The first failure decides how the command ends.
Ended end_of(const std::vector<ObjectWord>& objects, const std::vector<Status>& ended) {
  std::optional<Error> first;
  std::size_t failed = 0;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (ended[i]) continue;
    if (++failed == 1) first = ended[i].error();
  }
  if (failed == 0) return {};
  if (objects.size() > 1) {
    first->message = fmt::format("{} of {} objects were not evicted; the first: {}", failed,
                                 objects.size(), first->message);
  }
  Failed end(*std::move(first));
  end.in_output = true;
  return tl::unexpected(std::move(end));
}

Ended evict(const EvictOrder& order, bool json) {
  std::vector<ObjectWord> objects;
  for (const std::string& word : order.objects) {
    GODWIT_TRY(ObjectWord object, ObjectWord::parse(word));
    objects.push_back(std::move(object));
  }
  GODWIT_TRY(Fleet fleet, connect(order.connection));
  std::vector<Status> ended(objects.size());
  std::vector<Handle> handles;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    auto handle = objects[i].find(fleet);
    if (!handle) {
      ended[i] = tl::unexpected(std::move(handle).error());
      continue;
    }
    handles.push_back(*handle);
    which.push_back(i);
  }
  const auto answers = detail::ObjectDoor(fleet.objects()).evict_all(handles);
  for (std::size_t i = 0; i < which.size(); ++i) {
    const ObjectWord& object = objects[which[i]];
    ended[which[i]] = answers[i];
    if (answers[i] && object.is_name()) ended[which[i]] = forget_name(fleet, object, handles[i]);
  }
  if (json) print_json(objects, ended);
  return end_of(objects, ended);
}

}  // namespace

void add_evict(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "evict",
             .usage = "HANDLE|NAME... [--json]",
             .summary = "End objects: nobody can resolve them any more",
             .examples = "godwit evict gdw://AQAP...\ngodwit evict samples model",
             .details = "Who reads an object at that moment keeps it until done; its memory is "
                        "free then.\nEvicting what is gone already is fine."});
  const auto order = std::make_shared<EvictOrder>();
  command.add_option("OBJECTS", order->objects, "Their handles or names")->required();
  order->connection.add_to(command);
  add_json_flag(command, invocation);
  command.callback([&invocation, order] {
    invocation.command = [&invocation, order] { return evict(*order, invocation.json); };
  });
}

}  // namespace godwit::cli
