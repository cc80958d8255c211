#include <fmt/format.h>

#include "base/fail.hpp"
#include "command.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::cli {
namespace {

Ended make_key(const std::string& file) {
  GODWIT_CHECK(trust::FleetKey::generate().save(file));
  fmt::print("{} holds a new fleet key; give it to every node and client of the fleet\n", file);
  return {};
}

// Which key it is, without giving it away: the same for every copy.
Ended check_key(const std::string& file) {
  GODWIT_TRY(const trust::FleetKey key, trust::FleetKey::load(file));
  const trust::Tag tag = key.tag("godwit key check", {});
  std::string digits;
  for (std::size_t i = 0; i < 6; ++i) digits += fmt::format("{:02x}", static_cast<int>(tag[i]));
  fmt::print("{} is a fleet key; fingerprint {}\n", file, digits);
  return {};
}

void add(CLI::App& key, Invocation& invocation, const CommandText& text,
         Ended (*action)(const std::string&)) {
  CLI::App& command = add_command(key, text);
  const auto file = std::make_shared<std::string>();
  command.add_option("FILE", *file, "The key's file")->required();
  command.callback([&invocation, file, action] {
    invocation.command = [file, action] { return action(*file); };
  });
}

}  // namespace

void add_key(CLI::App& root, Invocation& invocation) {
  CLI::App& command =
      add_command(root, {.name = "key",
                         .usage = "new|check FILE",
                         .summary = "Make or check the key that makes processes one fleet",
                         .examples = "godwit key new fleet.key\n"
                                     "godwit key check fleet.key\n"
                                     "godwit node --key-file fleet.key --listen tcp:0.0.0.0:7400",
                         .details = "A node without a key talks to its own host only."});
  command.require_subcommand(1);
  add(command, invocation,
      {.name = "new",
       .usage = "FILE",
       .summary = "Make a key that only its owner may read; never overwrites",
       .examples = "godwit key new fleet.key"},
      make_key);
  add(command, invocation,
      {.name = "check",
       .usage = "FILE",
       .summary = "Check that a file is a usable key, and print its fingerprint",
       .examples = "godwit key check fleet.key"},
      check_key);
}

}  // namespace godwit::cli
