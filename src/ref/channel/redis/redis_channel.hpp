// Values in a Redis server or cluster.
//
//   redis://user:password@host:6379/0?ttl=86400&timeout_ms=2000     redis:/run/redis.sock?db=0
//   rediss://host:6380?ca=FILE&cert=FILE&key=FILE&name=HOST         redis+cluster://h1:p1,h2:p2
//
// A value is a string: a head of 32 bytes, and its bytes. Values of more than kPartBytes are a head
// under the key, and parts under keys of their own, which carry a number that is new with each put:
// a reader that finds a part gone begins anew. The head is there, marked as unfinished, before the
// parts are, so that remove() finds what a writer that died left behind.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "godwit/channel.hpp"
#include "ref/channel/redis/at_server.hpp"
#include "ref/channel/redis/servers.hpp"

namespace godwit::ref {

class RedisChannel final : public Channel {
 public:
  static constexpr std::uint64_t kPartBytes = std::uint64_t{64} << 20;
  static constexpr std::uint64_t kTimeToLiveS = 86'400;
  static constexpr std::size_t kBatch = 64;  // commands that are under way at a time
  // Of one get(): a value in parts that is put anew meanwhile is read from the beginning.
  static constexpr unsigned kMaxReads = 64;

  // Options: ttl=SECONDS (0: never), timeout_ms, db (of a Unix socket), part_bytes (for tests); of
  // TLS ca, cert, key, name. Errors: bad_address, and those of TlsContext.
  [[nodiscard]] static Result<std::unique_ptr<Channel>> make(const ChannelUrl& url);

  Status put(std::string_view key, Parts parts) override;
  Status get(std::string_view key, std::uint64_t offset, std::span<std::byte> into) override;
  Result<std::uint64_t> size(std::string_view key) override;
  Status remove(std::string_view key) override;
  std::vector<Status> put_batch(std::span<const PutItem> items) override;
  std::vector<Status> get_batch(std::span<const GetItem> items) override;
  [[nodiscard]] std::uint64_t time_to_live_s() const override { return options_.ttl_s; }
  Status renew(std::span<const std::string> keys) override;
  Status ping() override;
  [[nodiscard]] ChannelCost cost_hint() const override { return {100, 1500}; }
  [[nodiscard]] std::string describe() const override { return options_.shown; }

 private:
  struct Options {
    std::string shown;
    std::uint64_t ttl_s = kTimeToLiveS;
    std::uint64_t part_bytes = kPartBytes;
  };
  struct Head;
  RedisChannel(Options options, RedisServers::Options servers)
      : options_(std::move(options)), servers_(std::move(servers)) {}

  // at_server(), with errors that name the channel.
  template <class Use>
  auto at(std::string_view key, const Use& use) -> decltype(use(std::declval<RedisConnection&>())) {
    auto result = at_server(servers_, key, use);
    if (!result) return tl::unexpected(in_context(result.error()));
    return result;
  }
  [[nodiscard]] Error in_context(const Error& error) const;
  [[nodiscard]] Status send_all(std::string_view key, std::span<const RedisCommand> commands);
  [[nodiscard]] RedisCommand set(std::string_view key, const Head& head, Parts parts,
                                 bool only_new = false) const;
  [[nodiscard]] Result<std::optional<Head>> head_of(std::string_view key);
  [[nodiscard]] Status put_whole(std::string_view key, const Head& head, Parts parts);
  [[nodiscard]] Status put_parts(std::string_view key, const Head& head, Parts parts);
  [[nodiscard]] Status remove_parts(std::string_view key, const Head& head);
  struct Range;
  // False: begin anew.
  [[nodiscard]] Result<bool> get_once(RedisConnection& connection, const Range& range);
  [[nodiscard]] Result<bool> get_parts(RedisConnection& connection, const Range& range,
                                       const Head& head);
  // Does several things on one server, with kBatch of them under way at a time. What is larger than
  // a part, or moved, is done alone.
  template <class Item, class Whole, class Command, class Receive, class Alone>
  std::vector<Status> in_batches(std::span<const Item> items, const Whole& fits,
                                 const Command& command_of, const Receive& receive,
                                 const Alone& alone);

  const Options options_;
  RedisServers servers_;
};

}  // namespace godwit::ref
