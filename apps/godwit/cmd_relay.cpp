#include <fmt/format.h>
#include <sys/resource.h>

#include <optional>

#include "base/fail.hpp"
#include "command.hpp"
#include "command_line/byte_text.hpp"
#include "duration.hpp"
#include "fabric/relay/server.hpp"
#include "stop_signals.hpp"
#include "trace/json_value.hpp"

namespace godwit::cli {
namespace {

using fabric::Address;
using fabric::Reactor;
using fabric::relay::RelayServer;
using fabric::relay::RelayServerOptions;

constexpr std::chrono::seconds kStatusLimit{5};

constexpr std::string_view kRelayDetails =
    "Says \"ready ADDRESS\" on standard output once it serves. Nodes name it with --relay\n"
    "HOST:PORT, clients with --connect relay:HOST:PORT; both hold the fleet's key. The relay\n"
    "holds only the key that `godwit key relay` makes from it: with that it knows who may come\n"
    "in, and can neither join the fleet nor read what passes.";

struct RelayFlags {
  std::string listen;
  std::string key_file;
  std::size_t max_nodes = 4096;
  std::size_t max_links = 1024;
  std::string idle = "60s";
};

// HOST:PORT, or what `godwit relay` itself prints.
Result<Address> parse_place(const std::string& text) {
  auto address = Address::parse(text.starts_with("tcp:") ? text : "tcp:" + text);
  if (address) return address;
  return fail(ErrorCode::bad_address, "'{}' is no HOST:PORT", text);
}

// Two descriptors a link, and one a node.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

Ended serve(const RelayFlags& flags) {
  const StopSignals signals;
  if (flags.listen.empty() || flags.key_file.empty()) {
    return tl::unexpected(
        usage("a relay needs --listen HOST:PORT and --key-file FILE, which `godwit key "
              "relay` makes"));
  }
  const auto idle = parse_duration(flags.idle);
  if (!idle) {
    return tl::unexpected(usage("--idle: " + idle.error().message));
  }
  GODWIT_TRY(const Address listen, parse_place(flags.listen));
  GODWIT_TRY(const trust::FleetKey key, trust::FleetKey::load(flags.key_file));
  RelayServerOptions options{.listen = listen, .key = key};
  options.max_nodes = flags.max_nodes;
  options.max_links = flags.max_links;
  options.idle_limit = std::chrono::duration_cast<std::chrono::milliseconds>(*idle);
  raise_descriptor_limit();
  // It sleeps at once: while it does more arrives, and is moved in one go.
  GODWIT_TRY(const auto reactor,
             Reactor::create({.name = "relay", .spin_us = 0, .offload_threads = 1}));
  GODWIT_TRY(auto server, RelayServer::create(*reactor, std::move(options)));
  GODWIT_CHECK(reactor->start());
  fmt::print("ready {}\n", server->address().to_string());
  std::fflush(stdout);
  signals.wait();
  reactor->stop();
  server.reset();
  return {};
}

Result<std::string> ask_status(const Address& relay, const trust::FleetKey& key) {
  GODWIT_TRY(const auto reactor, Reactor::create({.name = "status", .offload_threads = 1}));
  std::optional<Result<fabric::Established>> answer;
  const fabric::relay::Request request{.what = fabric::relay::Request::What::status};
  GODWIT_TRY(
      const auto setup,
      fabric::LinkSetup::as_client(
          *reactor, relay,
          {.self = {random_node_id(), {1}, {}}, .key = &key, .timeout = kStatusLimit},
          {.data = encode(request), .fds = {}}, [&](Result<fabric::Established> established) {
            answer.emplace(std::move(established));
          }));
  while (!answer) reactor->run_once();  // ends: the set-up has a time limit
  if (!*answer) return tl::unexpected(answer->error());
  return std::move((*answer)->payload.data);
}

void print_text(const trace::JsonValue& status) {
  const auto count = [&](const char* name) { return status[name].count(); };
  fmt::print("relay at {}, up {}\n", status["address"].text(),
             format_age(std::chrono::milliseconds(count("uptime_ms"))));
  fmt::print("  nodes      {} enrolled; {} enrolments so far, {} of them in place of another\n",
             count("nodes"), count("enrolments"), count("replaced"));
  fmt::print("  links      {} joined, {} waiting; {} so far, {} moved\n", count("links"),
             count("waiting"), count("links_ever"), byte_text(count("bytes")));
  fmt::print("  failed     {} to nodes not enrolled, {} not answered, {} ended for silence\n",
             count("unknown"), count("unanswered"), count("idle_ended"));
  fmt::print("  refused    {} connections, {} requests beyond a limit\n", count("refused"),
             count("overload"));
}

Ended status(const RelayFlags& flags, bool json) {
  GODWIT_TRY(const Address relay, parse_place(flags.listen));
  GODWIT_TRY(const trust::FleetKey key, trust::FleetKey::load(flags.key_file));
  auto text = ask_status(relay, key);
  if (!text && text.error().code == ErrorCode::unauthorised) {
    text = ask_status(relay, trust::relay_key_of(key));  // it was the fleet's
  }
  if (!text) return tl::unexpected(Failed(std::move(text).error()));
  GODWIT_TRY(const trace::JsonValue status, trace::JsonValue::parse(*text));
  if (json) {
    fmt::print("{}\n", *text);
  } else {
    print_text(status);
  }
  return {};
}

}  // namespace

void add_relay(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "relay",
             .usage = "--listen HOST:PORT --key-file FILE [LIMITS] | status HOST:PORT",
             .summary = "Join nodes and clients that cannot reach each other, until SIGTERM",
             .examples = "godwit key relay fleet.key relay.key\n"
                         "godwit relay --listen 0.0.0.0:7443 --key-file relay.key\n"
                         "godwit node --relay relay.example.org:7443 --key-file fleet.key\n"
                         "godwit relay status relay.example.org:7443 --key-file relay.key",
             .details = kRelayDetails});
  const auto flags = std::make_shared<RelayFlags>();
  command.add_option("--listen", flags->listen, "Where nodes and clients dial in")
      ->type_name("HOST:PORT");
  command.add_option("--key-file", flags->key_file, "The relay's key")->type_name("FILE");
  command.add_option("--max-nodes", flags->max_nodes, "Nodes enrolled [4096]")->type_name("COUNT");
  command.add_option("--max-links", flags->max_links, "Links joined [1024]")->type_name("COUNT");
  command.add_option("--idle", flags->idle, "Ends a link on which nothing moved for so long [60s]")
      ->type_name("TIME");
  CLI::App& ask = add_command(
      command, {.name = "status",
                .usage = "HOST:PORT --key-file FILE [--json]",
                .summary = "Ask a relay how many nodes and links it has, and what it refused",
                .examples = "godwit relay status relay.example.org:7443 --key-file relay.key"});
  ask.add_option("RELAY", flags->listen, "Where it listens")->type_name("HOST:PORT")->required();
  ask.add_option("--key-file", flags->key_file, "The relay's key, or the fleet's")
      ->type_name("FILE")
      ->required();
  add_json_flag(ask, invocation);
  ask.callback([&invocation, flags] {
    invocation.command = [&invocation, flags] { return status(*flags, invocation.json); };
  });
  command.callback([&command, &invocation, flags] {
    if (!command.get_subcommands().empty()) return;
    invocation.command = [flags] { return serve(*flags); };
  });
}

}  // namespace godwit::cli
