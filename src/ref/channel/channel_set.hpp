// The channels of this process by their names: whether they answer, and what they take.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "godwit/channel.hpp"
#include "godwit/handle.hpp"
#include "ref/channel/choice.hpp"

namespace godwit::ref {

// What an object's version is kept under, in any channel. It follows from the handle alone, so that
// readers find it also when its home is gone; each version of an object is written at most once.
[[nodiscard]] std::string channel_key(NodeId home, const ObjectId& object, std::uint64_t version);

// A text with URLs in it, with *** in the places of passwords.
[[nodiscard]] std::string without_password(std::string_view text);
// Loads a library that has GODWIT_CHANNEL_PLUGIN, for the rest of the process's life. Errors: io,
// version_mismatch, and what the library says.
[[nodiscard]] Status load_channel_plugin(const std::string& path);

// Any thread.
class NamedChannel {
 public:
  using Clock = std::chrono::steady_clock;
  // After failures it is left alone for that long, twice as long after each, up to the most.
  static constexpr std::chrono::milliseconds kRest{250};
  static constexpr std::chrono::milliseconds kMostRest{16'000};
  static constexpr std::size_t kMaxRefusals = 1024;
  static constexpr std::chrono::seconds kRefusalKept{30};

  NamedChannel(ChannelOptions options, std::unique_ptr<Channel> channel);

  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  [[nodiscard]] const ChannelPolicy& policy() const noexcept { return options_.policy; }
  [[nodiscard]] Channel& channel() noexcept { return *channel_; }

  // The channel's own, timed; errors name it. What cannot be had at the moment rests.
  [[nodiscard]] Status put(const std::string& key, Channel::Parts parts);
  [[nodiscard]] Status get(const std::string& key, std::uint64_t offset, MutableBytes into);
  [[nodiscard]] Result<std::uint64_t> size(const std::string& key);
  [[nodiscard]] Status remove(const std::string& key);

  [[nodiscard]] bool healthy() const;
  // Why it rests; empty: it does not.
  [[nodiscard]] std::string trouble() const;
  enum class Way : std::uint8_t { put, get };
  [[nodiscard]] MeasuredCost cost(Way way) const;

  // A home that does not have this channel is not asked again for a while.
  void refused_by(NodeId home);
  [[nodiscard]] bool is_refused_by(NodeId home);

 private:
  template <class Do>
  auto timed(Way way, std::uint64_t bytes, const Do& act) -> decltype(act());
  void note(const Error* error);
  [[nodiscard]] Error in_context(const Error& error) const;

  const ChannelOptions options_;
  const std::unique_ptr<Channel> channel_;
  mutable std::mutex mutex_;
  MeasuredCost put_cost_;
  MeasuredCost get_cost_;
  unsigned failures_ = 0;  // in a row
  Clock::time_point rests_until_{};
  std::string trouble_;
  std::unordered_map<NodeId, Clock::time_point> refusals_;
};

// Any thread. What it hands out lives as long as it does.
class ChannelSet {
 public:
  static constexpr std::size_t kMost = 255;

  // Errors: invalid_argument (a name twice, too many); those of open_channel().
  [[nodiscard]] static Result<std::shared_ptr<ChannelSet>> open(
      std::span<const ChannelOptions> options);

  [[nodiscard]] bool empty() const noexcept { return channels_.empty(); }
  [[nodiscard]] std::span<const std::unique_ptr<NamedChannel>> all() const noexcept {
    return channels_;
  }
  [[nodiscard]] NamedChannel* find(std::string_view name) const noexcept;
  // Errors: not_found, naming those there are.
  [[nodiscard]] Result<NamedChannel*> named(std::string_view name) const;
  [[nodiscard]] const std::string& host() const noexcept { return host_; }

  // Those to try, one after another; null: the home's memory, expected to take that long.
  [[nodiscard]] std::vector<NamedChannel*> for_put(std::uint64_t size,
                                                   std::span<const std::string> tags, NodeId home,
                                                   double memory_us) const;
  // Empty: this process may read from it. Else why not.
  [[nodiscard]] std::string unreadable(const NamedChannel& channel) const;

 private:
  ChannelSet() = default;
  std::vector<std::unique_ptr<NamedChannel>> channels_;
  std::string host_;
};

}  // namespace godwit::ref
