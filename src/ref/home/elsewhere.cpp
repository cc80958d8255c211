#include "ref/home/elsewhere.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"

namespace godwit::ref {

std::uint16_t HomeChannels::number_of(std::string_view name) const noexcept {
  const auto all = channels_->all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i]->name() == name) return static_cast<std::uint16_t>(i + 1);
  }
  return 0;
}

std::string_view HomeChannels::name_of(std::uint16_t number) const noexcept {
  return number == 0 ? std::string_view() : std::string_view(at(number).name());
}

std::string HomeChannels::known() const {
  std::vector<std::string> names{"memory"};
  for (const auto& channel : channels_->all()) names.push_back(channel->name());
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string HomeChannels::key_of(const Elsewhere& what) const {
  return channel_key(home_, what.object, what.version);
}

Status HomeChannels::fetch(const Elsewhere& what, MutableBytes into) {
  {
    const std::lock_guard lock(mutex_);
    ++stats_.fetches;
  }
  return at(what.channel).get(key_of(what), 0, into);
}

Status HomeChannels::check(const Elsewhere& what, std::uint64_t size) {
  const auto there = at(what.channel).size(key_of(what));
  if (there && *there == size) return {};
  if (there) {
    return fail(ErrorCode::invalid_argument,
                "channel {} has {} bytes of object {}, and not the {} that were to be put there",
                at(what.channel).name(), *there, what.object.short_hex(), size);
  }
  if (there.error().code != ErrorCode::not_found) return tl::unexpected(there.error());
  return fail(ErrorCode::invalid_argument,
              "node {} does not find in channel {} ({}) what was put there: the name has to mean "
              "the same place in all processes",
              to_hex(home_.value), at(what.channel).name(), at(what.channel).channel().describe());
}

void HomeChannels::remove(const Elsewhere& what) {
  const std::lock_guard lock(mutex_);
  if (closing_) return;
  if (pending_.size() >= kMaxPending) {
    pending_.pop_front();
    ++stats_.dropped;
  }
  pending_.push_back(what);
  start_thread();
  changed_.notify_one();
}

void HomeChannels::renew_what(std::function<std::vector<Elsewhere>()> list) {
  const std::lock_guard lock(mutex_);
  list_ = std::move(list);
  if (renew_every().count() != 0) start_thread();
}

void HomeChannels::start_thread() {
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

std::chrono::seconds HomeChannels::renew_every() const {
  std::uint64_t least = 0;
  for (const auto& channel : channels_->all()) {
    const std::uint64_t ttl = channel->channel().time_to_live_s();
    if (ttl != 0) least = least == 0 ? ttl : std::min(least, ttl);
  }
  return std::chrono::seconds(least == 0 ? 0 : std::max<std::uint64_t>(1, least / 4));
}

// One that fails goes to the end of the queue, so that a store that is away does not keep others.
void HomeChannels::run() {
  std::unique_lock lock(mutex_);
  auto pause = kFirstPause;
  auto until = Clock::time_point::max();
  auto next_renewal = Clock::now() + renew_every();
  std::size_t failures = 0;  // since the last success
  for (;;) {
    if (closing_ && until == Clock::time_point::max()) until = Clock::now() + kFarewell;
    if (closing_ && (pending_.empty() || Clock::now() >= until)) return;
    const bool renews = renew_every().count() != 0 && !closing_;
    if (renews && Clock::now() >= next_renewal) {
      lock.unlock();
      renew();
      lock.lock();
      next_renewal = Clock::now() + renew_every();
      continue;
    }
    if (pending_.empty()) {
      const auto woken = [this] { return closing_ || !pending_.empty(); };
      if (renews) {
        changed_.wait_until(lock, next_renewal, woken);
      } else {
        changed_.wait(lock, woken);
      }
      continue;
    }
    const Elsewhere what = pending_.front();
    pending_.pop_front();
    lock.unlock();
    const Status removed = at(what.channel).remove(key_of(what));
    lock.lock();
    if (removed) {
      ++stats_.removed;
      failures = 0;
      pause = kFirstPause;
      continue;
    }
    ++stats_.failed;
    pending_.push_back(what);
    if (++failures < pending_.size() && failures < 16) continue;  // others may do better
    failures = 0;
    changed_.wait_for(lock, pause, [&] { return closing_ && Clock::now() >= until; });
    pause = std::min(kMostPause, pause * 2);
  }
}

void HomeChannels::renew() {
  std::function<std::vector<Elsewhere>()> list;
  {
    const std::lock_guard lock(mutex_);
    list = list_;
  }
  if (!list) return;
  std::vector<std::vector<std::string>> keys(channels_->all().size());
  for (const Elsewhere& what : list()) {
    keys[what.channel - std::size_t{1}].push_back(key_of(what));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    static_cast<void>(channels_->all()[i]->channel().renew(keys[i]));  // soon again
  }
}

void HomeChannels::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    list_ = nullptr;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

HomeChannels::Stats HomeChannels::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats = stats_;
  stats.pending = pending_.size();
  return stats;
}

}  // namespace godwit::ref
