#include "ref/channel/channel_set.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "base/parts.hpp"
#include "ref/channel/refusals.hpp"

namespace godwit::ref {

std::string channel_key(NodeId home, const ObjectId& object, std::uint64_t version) {
  return fmt::format("gdw-{}-{}-{}", to_hex(home.value), object.hex(), version);
}

std::string without_password(std::string_view text) {
  std::string out(text);
  for (std::size_t at = out.find("://"); at != std::string::npos; at = out.find("://", at + 3)) {
    const std::size_t end = std::min(out.find(' ', at), out.size());
    const std::size_t login_end = out.rfind('@', end);
    const std::size_t colon = out.find(':', at + 3);
    if (login_end == std::string::npos || login_end < at || colon > login_end) continue;
    out.replace(colon + 1, login_end - colon - 1, "***");
  }
  return out;
}

NamedChannel::NamedChannel(ChannelOptions options, std::unique_ptr<Channel> channel)
    : options_(std::move(options)),
      channel_(std::move(channel)),
      put_cost_(channel_->cost_hint()),
      get_cost_(channel_->cost_hint()) {}

Error NamedChannel::in_context(const Error& error) const {
  return {error.code,
          fmt::format("channel {} ({}): {}", name(), channel_->describe(), error.message)};
}

template <class Do>
auto NamedChannel::timed(Way way, std::uint64_t bytes, const Do& act) -> decltype(act()) {
  const auto begin = Clock::now();
  auto done = act();
  const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  if (!done) {
    note(&done.error());
    return tl::unexpected(in_context(done.error()));
  }
  note(nullptr);
  const std::lock_guard lock(mutex_);
  (way == Way::put ? put_cost_ : get_cost_).add(bytes, took.count());
  return done;
}

// What is wrong with one key says nothing of the others.
void NamedChannel::note(const Error* error) {
  const std::lock_guard lock(mutex_);
  if (error == nullptr) {
    failures_ = 0;
    trouble_.clear();
    return;
  }
  switch (error->code) {
    case ErrorCode::not_found:
    case ErrorCode::invalid_argument:
    case ErrorCode::bad_format:
    case ErrorCode::too_large: return;
    default: break;
  }
  const unsigned doublings = std::min(failures_++, 10U);
  rests_until_ = Clock::now() + std::min(kMostRest, kRest * (1U << doublings));
  trouble_ = error->message;
}

Status NamedChannel::put(const std::string& key, Channel::Parts parts) {
  return timed(Way::put, total_size(parts), [&] { return channel_->put(key, parts); });
}

Status NamedChannel::get(const std::string& key, std::uint64_t offset, MutableBytes into) {
  return timed(Way::get, into.size(), [&] { return channel_->get(key, offset, into); });
}

Result<std::uint64_t> NamedChannel::size(const std::string& key) {
  auto size = channel_->size(key);
  note(size ? nullptr : &size.error());
  if (!size) return tl::unexpected(in_context(size.error()));
  return size;
}

Status NamedChannel::remove(const std::string& key) {
  Status removed = channel_->remove(key);
  note(removed ? nullptr : &removed.error());
  if (!removed) return tl::unexpected(in_context(removed.error()));
  return removed;
}

bool NamedChannel::healthy() const {
  const std::lock_guard lock(mutex_);
  return failures_ == 0 || Clock::now() >= rests_until_;
}

std::string NamedChannel::trouble() const {
  const std::lock_guard lock(mutex_);
  return Clock::now() < rests_until_ ? trouble_ : std::string();
}

MeasuredCost NamedChannel::cost(Way way) const {
  const std::lock_guard lock(mutex_);
  return (way == Way::put ? put_cost_ : get_cost_).as_of(Clock::now());
}

void NamedChannel::refused_by(NodeId home) {
  const std::lock_guard lock(mutex_);
  if (refusals_.size() >= kMaxRefusals) refusals_.clear();
  refusals_[home] = Clock::now() + kRefusalKept;
}

bool NamedChannel::is_refused_by(NodeId home) {
  const std::lock_guard lock(mutex_);
  const auto found = refusals_.find(home);
  if (found == refusals_.end()) return false;
  if (Clock::now() < found->second) return true;
  refusals_.erase(found);
  return false;
}

// --- All of them ---

Result<std::shared_ptr<ChannelSet>> ChannelSet::open(std::span<const ChannelOptions> options) {
  std::shared_ptr<ChannelSet> set(new ChannelSet);
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) set->host_ = host;
  if (options.size() > kMost) {
    return fail(ErrorCode::invalid_argument, "a process may have {} channels, not {}", kMost,
                options.size());
  }
  for (const ChannelOptions& one : options) {
    if (set->find(one.name) != nullptr) {
      return fail(ErrorCode::invalid_argument, "two channels are called {}", one.name);
    }
    auto channel = open_channel(one.url);
    if (!channel) {
      return fail(channel.error().code, "channel {}: {}", one.name, channel.error().message);
    }
    set->channels_.push_back(std::make_unique<NamedChannel>(one, *std::move(channel)));
  }
  return set;
}

NamedChannel* ChannelSet::find(std::string_view name) const noexcept {
  const auto found = std::find_if(channels_.begin(), channels_.end(),
                                  [&](const auto& channel) { return channel->name() == name; });
  return found == channels_.end() ? nullptr : found->get();
}

Result<NamedChannel*> ChannelSet::named(std::string_view name) const {
  if (NamedChannel* const found = find(name)) return found;
  std::vector<std::string> names{"memory"};
  for (const auto& channel : channels_) names.push_back(channel->name());
  return fail(ErrorCode::not_found,
              "this process has no channel called '{}'; there are {}; add it to its settings "
              "(channel) or to ClientOptions::channels",
              name, fmt::join(names, ", "));
}

std::vector<NamedChannel*> ChannelSet::for_put(std::uint64_t size,
                                               std::span<const std::string> tags, NodeId home,
                                               double memory_us) const {
  std::vector<PutCandidate> candidates{{.policy = nullptr, .expected_us = memory_us}};
  for (const auto& channel : channels_) {
    candidates.push_back({&channel->policy(),
                          channel->cost(NamedChannel::Way::put).estimate_us(size),
                          channel->healthy() && !channel->is_refused_by(home)});
  }
  std::vector<NamedChannel*> order;
  for (const std::size_t i : order_for_put(candidates, {size, host_, tags})) {
    order.push_back(i == 0 ? nullptr : channels_[i - 1].get());
  }
  return order;
}

std::string ChannelSet::unreadable(const NamedChannel& channel) const {
  if (!fits_host(channel.policy(), host_)) {
    return fmt::format("host {} is none of {}", host_, fmt::join(channel.policy().hosts, "|"));
  }
  return channel.healthy() ? std::string() : "it rests: " + channel.trouble();
}

}  // namespace godwit::ref
