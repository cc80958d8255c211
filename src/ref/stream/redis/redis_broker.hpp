// A Redis server or cluster as a broker. What the server does is in scripts.hpp.
//
//   redis://user:password@host:6379/0?timeout_ms=2000&away_ms=30000     redis:/run/redis.sock?db=0
//   rediss://host:6380?ca=FILE&cert=FILE&key=FILE&name=HOST             redis+cluster://h1:p1,h2:p2
//
// A server that is away is asked again, for away_ms at most and no longer than whoever asks waits.
// All that is asked may be asked twice: batches are numbered, and what was taken and did not arrive
// comes again after its lease.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/channel.hpp"
#include "godwit/fleet.hpp"
#include "ref/channel/redis/servers.hpp"
#include "ref/stream/broker.hpp"
#include "ref/stream/redis/script_call.hpp"

namespace godwit::ref::stream {

class RedisBroker final : public BrokerCore, public std::enable_shared_from_this<RedisBroker> {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxItemBytes = std::size_t{32} << 20;  // in the server itself
  static constexpr std::size_t kMaxAnswer = std::size_t{128} << 20;
  static constexpr std::uint64_t kAwayMs = 30'000;

  // Errors: those of Broker::connect(). The node's fleet outlives it.
  [[nodiscard]] static Result<std::shared_ptr<RedisBroker>> connect(std::string_view url,
                                                                    const NodeHandle* objects_at);
  struct Options {
    std::string shown;
    std::chrono::milliseconds away{kAwayMs};
    std::optional<NodeHandle> objects_at{};
  };
  RedisBroker(Options options, RedisServers::Options servers)
      : options_(std::move(options)), servers_(std::move(servers)) {}

  [[nodiscard]] std::string name() const override { return options_.shown; }
  [[nodiscard]] Result<std::shared_ptr<TopicOut>> produce(std::string_view topic,
                                                          std::uint64_t type,
                                                          const ProducerOptions& options) override;
  [[nodiscard]] Result<std::shared_ptr<ConsumerCore>> join(std::string_view topic,
                                                           std::string_view group,
                                                           std::uint64_t type,
                                                           const ConsumerOptions& options) override;
  [[nodiscard]] Result<std::vector<TopicStatus>> list(std::size_t at_most) override;
  [[nodiscard]] Result<TopicStatus> status(std::string_view topic) override;
  [[nodiscard]] Status remove(std::string_view topic) override;
  [[nodiscard]] Status remove_group(std::string_view topic, std::string_view group) override;

  // --- For its topics. Any thread. ---
  // Errors of both: unreachable, what the server says.
  [[nodiscard]] Result<RedisReply> call(const ScriptCall& what);
  [[nodiscard]] Result<RedisReply> call_until(const ScriptCall& what, Clock::time_point until);
  // Until the bell is rung after the entry that is named, or a second is over, or until then.
  void wait_for_bell(std::string_view topic, std::string_view bell, std::string_view after,
                     Clock::time_point until);
  [[nodiscard]] const std::optional<NodeHandle>& objects_at() const noexcept {
    return options_.objects_at;
  }
  // Objects whose items went, by the texts of their handles.
  void evict(const std::vector<RedisReply>& handles) const;
  // An answer that is not what was hoped for.
  [[nodiscard]] tl::unexpected<Error> refusal(std::string_view topic, std::string_view group,
                                              const Answer& answer) const;

 private:
  struct Opened {
    std::string id;
    std::uint64_t max_bytes = 0;
  };
  struct Described {
    std::string id;
    TopicStatus status;
  };
  [[nodiscard]] Status check_server();
  [[nodiscard]] Result<Opened> open(std::string_view topic, std::uint64_t type,
                                    const ProducerOptions* options, std::string_view producer);
  [[nodiscard]] Result<Described> describe(std::string_view topic);
  [[nodiscard]] Status do_to(std::string_view topic, std::string_view group, Script script);
  [[nodiscard]] Result<RedisReply> ask(std::string_view key, const RedisCommand& command);

  const Options options_;
  RedisServers servers_;
};

}  // namespace godwit::ref::stream
