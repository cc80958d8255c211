#include "ref/setup.hpp"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "base/fail.hpp"

namespace godwit::bench {

std::vector<std::uint64_t> Scope::sizes() const {
  if (!only.empty()) return only;
  std::vector<std::uint64_t> all{1'000, 10'000, 100'000, 1'000'000, 10'000'000};
  if (!quick) all.insert(all.end(), {100'000'000, 1'000'000'000});
  return all;
}

std::uint64_t Scope::largest() const {
  return std::max<std::uint64_t>(100'000, std::ranges::max(sizes()));
}

std::string size_text(std::uint64_t bytes) {
  const char* const units[] = {"B", "KB", "MB", "GB"};
  std::size_t unit = 0;
  for (; bytes >= 1'000 && unit + 1 < std::size(units); ++unit) bytes /= 1'000;
  return fmt::format("{} {}", bytes, units[unit]);
}

Setup::Setup(const Scope& scope, const SetupOptions& options)
    : scope_(scope),
      options_(options),
      words_(options.largest_bytes / sizeof(std::uint64_t)),
      into_(options.largest_bytes) {
  std::iota(words_.begin(), words_.end(), 1);
}

Setup::~Setup() {
  far_.reset();
  fleet_.reset();
  nodes_.reset();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Result<std::unique_ptr<Setup>> Setup::start(const Scope& scope, const SetupOptions& options) {
  std::unique_ptr<Setup> setup(new Setup(scope, options));
  const std::int64_t spin_us = options.spin_us;
  const int node_core = options.pinned ? scope.node_core : -1;
  const int client_core = options.pinned ? scope.client_core : -1;
  std::string redis_socket;
  if (options.redis) {
    auto server = Redis::start(node_core);
    if (server) {
      redis_socket = server->unix_socket();
      setup->redis_server_.emplace(*std::move(server));
      GODWIT_TRY(RedisObjects client, RedisObjects::connect(redis_socket));
      setup->redis_client_ = std::make_unique<RedisObjects>(std::move(client));
    } else if (server.error().code != ErrorCode::not_found) {
      return tl::unexpected(std::move(server).error());
    }
  }
  run_on_core(node_core);
  node::LocalNodes::Options nodes;
  nodes.tcp = options.transport == LocalTransport::tcp;
  nodes.node_arguments = {fmt::format("--spin-us={}", spin_us)};
  std::vector<std::string> channels;
  if (options.channels) {
    setup->folder_ = (std::filesystem::temp_directory_path() / "godwit-bench-XXXXXX").string();
    if (::mkdtemp(setup->folder_.data()) == nullptr) {
      return fail(ErrorCode::io, "no temporary directory for a channel");
    }
    channels.push_back("folder file:" + setup->folder_);
    if (!redis_socket.empty()) channels.push_back("redis redis:" + redis_socket);
    for (const std::string& one : channels) nodes.node_arguments.push_back("--channel=" + one);
  }
  if (options.far_by_tcp) nodes.node_arguments.emplace_back("--listen=tcp:127.0.0.1:0");
  GODWIT_TRY(setup->nodes_, node::LocalNodes::start(1, std::move(nodes)));
  const std::string address = setup->nodes_->addresses().front();
  // The threads of both clients inherit the core.
  run_on_core(client_core);
  if (options.zeromq) {
    auto sender = make_zeromq_sender(options.by_tcp() ? ZeromqWay::tcp : ZeromqWay::ipc);
    if (sender) {
      setup->zeromq_ = *std::move(sender);
    } else if (sender.error().code != ErrorCode::not_found) {
      return tl::unexpected(std::move(sender).error());
    }
  }
  ClientOptions client{.name = "near"};
  client.spin_us = spin_us;
  for (const std::string& one : channels) {
    GODWIT_TRY(ChannelOptions channel, ChannelOptions::parse(one));
    client.channels.push_back(std::move(channel));
  }
  GODWIT_TRY(Fleet fleet, Fleet::join(address, client));
  setup->fleet_ = std::make_unique<Fleet>(std::move(fleet));
  std::string far_address = address;
  if (options.far_by_tcp) {
    const std::vector<NodeDescription> nodes_known = setup->fleet_->describe();
    for (const std::string& one : nodes_known.front().addresses) {
      if (one.starts_with("tcp:")) far_address = one;
    }
  }
  GODWIT_TRY(FarSide far,
             FarSide::start({.address = far_address,
                             .spin_us = spin_us,
                             .arena_bytes = options.largest_bytes,
                             .redis_socket = redis_socket,
                             .zeromq_address = setup->zeromq_ ? setup->zeromq_->address() : ""}));
  setup->far_.emplace(std::move(far));
  return setup;
}

}  // namespace godwit::bench
