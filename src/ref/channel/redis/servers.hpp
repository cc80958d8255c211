// The servers of a Redis channel: one, or those of a cluster, with a few open connections to each.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/channel.hpp"
#include "godwit/error.hpp"
#include "ref/channel/redis/protocol.hpp"

namespace godwit::ref {

// Of 16,384, the part of a cluster that a key belongs to. What stands in the first {} counts alone.
[[nodiscard]] std::uint16_t redis_slot_of(std::string_view key) noexcept;

// Any thread.
class RedisServers {
 public:
  static constexpr std::size_t kKept = 8;   // open and unused, of each server
  static constexpr std::size_t kOpen = 64;  // of each server; further threads wait for one
  static constexpr std::size_t kSlots = 16'384;

  struct Options {
    std::vector<std::string> addresses;  // of a cluster: some of it
    bool cluster = false;
    Stream::Options stream;
    RedisLogin login;

    // Of a URL with timeout_ms, db, and of TLS ca, cert, key, name. Errors: bad_address, and those
    // of TlsContext.
    [[nodiscard]] static Result<Options> of(const ChannelUrl& url);
  };
  explicit RedisServers(Options options) : options_(std::move(options)) {}

  struct Connection {
    std::string address;
    std::unique_ptr<RedisConnection> open;
    bool used_before = false;  // so it may have ended meanwhile
  };
  // Errors: those of RedisConnection::open(), overload (kOpen are in use, and stay so).
  [[nodiscard]] Result<Connection> take(const std::string& address);
  void give_back(Connection connection);

  // The address of the server that has the key.
  [[nodiscard]] Result<std::string> address_of(std::string_view key);
  // It turned out to be another one, or not to answer. Asks the cluster who has what, unless
  // somebody has just done so; nothing happens where there is one server.
  void look_again();
  [[nodiscard]] bool is_cluster() const noexcept { return options_.cluster; }
  [[nodiscard]] std::chrono::milliseconds time_out() const noexcept {
    return options_.stream.time_out;
  }

 private:
  struct Server {
    std::vector<std::unique_ptr<RedisConnection>> kept;
    std::size_t open = 0;
  };
  [[nodiscard]] Status ask_for_slots();
  [[nodiscard]] Status ask_for_slots(const std::string& address);
  [[nodiscard]] Status learn(const RedisReply& slots, const std::string& asked);

  const Options options_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::map<std::string, Server> servers_;
  std::vector<std::string> slots_;  // the address of each; empty: nobody was asked
  std::chrono::steady_clock::time_point asked_{};
  std::mutex asking_;
};

}  // namespace godwit::ref
