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

Ended make_relay_key(const std::string& fleet_file, const std::string& relay_file) {
  GODWIT_TRY(const trust::FleetKey key, trust::FleetKey::load(fleet_file));
  GODWIT_CHECK(trust::relay_key_of(key).save(relay_file));
  fmt::print("{} holds the key of a relay for the fleet of {}; give it to the relay alone\n",
             relay_file, fleet_file);
  return {};
}

void add_relay_key(CLI::App& key, Invocation& invocation) {
  CLI::App& command =
      add_command(key, {.name = "relay",
                        .usage = "FLEET_KEY FILE",
                        .summary = "Make the key that a relay of the fleet needs; never overwrites",
                        .examples = "godwit key relay fleet.key relay.key"});
  struct Files {
    std::string fleet;
    std::string relay;
  };
  const auto files = std::make_shared<Files>();
  command.add_option("FLEET_KEY", files->fleet, "The fleet's key, which the relay does not need")
      ->required();
  command.add_option("FILE", files->relay, "The relay's key")->required();
  command.callback([&invocation, files] {
    invocation.command = [files] { return make_relay_key(files->fleet, files->relay); };
  });
}

void add_to_key(CLI::App& key, Invocation& invocation, const CommandText& text,
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
                         .usage = "new|check FILE | relay FLEET_KEY FILE",
                         .summary = "Make or check the key that makes processes one fleet",
                         .examples = "godwit key new fleet.key\n"
                                     "godwit key check fleet.key\n"
                                     "godwit key relay fleet.key relay.key\n"
                                     "godwit node --key-file fleet.key --listen tcp:0.0.0.0:7400",
                         .details = "A node without a key talks to its own host only."});
  command.require_subcommand(1);
  add_to_key(command, invocation,
             {.name = "new",
              .usage = "FILE",
              .summary = "Make a key that only its owner may read; never overwrites",
              .examples = "godwit key new fleet.key"},
             make_key);
  add_to_key(command, invocation,
             {.name = "check",
              .usage = "FILE",
              .summary = "Check that a file is a usable key, and print its fingerprint",
              .examples = "godwit key check fleet.key"},
             check_key);
  add_relay_key(command, invocation);
}

}  // namespace godwit::cli
