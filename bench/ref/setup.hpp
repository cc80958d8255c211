// A node, a client of it (this process) and another one (the far side), for a measurement.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "godwit/godwit.hpp"
#include "godwit/promise.hpp"
#include "godwit/ref.hpp"
#include "node/local_nodes.hpp"
#include "redis.hpp"
#include "ref/far_side.hpp"
#include "ref/redis_objects.hpp"
#include "ref/zeromq.hpp"
#include "settings.hpp"

namespace godwit::bench {

using Array = Ref<std::uint64_t[]>;

struct Scope {
  bool quick = false;
  std::vector<std::uint64_t> only = {};  // objects of so many bytes; empty: the usual ones
  int client_core = 0;
  int node_core = 1;

  [[nodiscard]] std::vector<std::uint64_t> sizes() const;
  // And more than any handles take that the far side is given (Handed).
  [[nodiscard]] std::uint64_t largest() const;
};

// "10 KB"; powers of ten.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

struct SetupOptions {
  LocalTransport transport = LocalTransport::shm;
  std::int64_t spin_us = kPollingSpinUs;  // of all processes; 0: they sleep
  bool pinned = true;
  std::uint64_t largest_bytes = 0;  // of any object
  bool redis = false;
  bool zeromq = false;      // by tcp if the far side is reached by tcp, else by ipc
  bool channels = false;    // called "folder" and, if there is one, "redis"
  bool far_by_tcp = false;  // the far side is as if on another host, whatever the transport

  [[nodiscard]] bool by_tcp() const { return transport == LocalTransport::tcp || far_by_tcp; }
  [[nodiscard]] Waiting waiting() const { return spin_us > 0 ? Waiting::poll : Waiting::sleep; }
};

// One thread. The client and the far side share a core: one of them waits while the other works.
class Setup {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Setup>> start(const Scope& scope,
                                                            const SetupOptions& options);

  [[nodiscard]] NodeHandle node() const { return fleet_->node(0); }
  [[nodiscard]] const Fleet& fleet() const { return *fleet_; }
  [[nodiscard]] pid_t node_pid() const { return nodes_->pid(0); }
  [[nodiscard]] const FarSide& far() const { return *far_; }
  // Null: there is none.
  [[nodiscard]] RedisObjects* redis() const { return redis_client_.get(); }
  // The far side receives. Null: there is none.
  [[nodiscard]] ZeromqSender* zeromq() const { return zeromq_.get(); }
  // As a broker; empty: there is none.
  [[nodiscard]] std::string redis_url() const {
    return redis_server_ ? "redis:" + redis_server_->unix_socket() : "";
  }
  // Of the channel; gone with this.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  ~Setup();
  [[nodiscard]] const SetupOptions& options() const { return options_; }
  [[nodiscard]] const Scope& scope() const { return scope_; }
  // Warm memory to put from.
  [[nodiscard]] std::span<const std::uint64_t> words(std::uint64_t bytes) const {
    return std::span(words_).first(bytes / sizeof(std::uint64_t));
  }
  [[nodiscard]] std::span<const std::byte> bytes(std::uint64_t size) const {
    return std::as_bytes(words(size));
  }
  // Memory to receive into.
  [[nodiscard]] std::span<std::byte> into(std::uint64_t size) {
    return std::span(into_).first(size);
  }
  // In the arena, which has to be large enough for them.
  [[nodiscard]] std::span<Handed> handed(std::size_t count) const {
    return {reinterpret_cast<Handed*>(far_->arena().data()), count};
  }
  // With what it is to do and, in most cases, on the client's core.
  [[nodiscard]] Order order(Order::Do what, std::uint64_t size = 0) const {
    return {.what = what,
            .waiting = options_.waiting(),
            .core = options_.pinned ? scope_.client_core : -1,
            .size = size};
  }

 private:
  Setup(const Scope& scope, const SetupOptions& options);

  Scope scope_;
  SetupOptions options_;
  std::vector<std::uint64_t> words_;
  std::vector<std::byte> into_;
  std::string folder_;
  std::optional<Redis> redis_server_;
  std::unique_ptr<RedisObjects> redis_client_;
  std::unique_ptr<ZeromqSender> zeromq_;     // what it sends outlives it
  std::unique_ptr<node::LocalNodes> nodes_;  // outlives the connections to it
  std::unique_ptr<Fleet> fleet_;
  std::optional<FarSide> far_;
};

}  // namespace godwit::bench
