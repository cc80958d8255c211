// The channels as a home uses them: it names them by number, fetches what it is asked for, and
// removes what has ended. Removing waits for stores, so a thread of its own does it, which is made
// when there is something to remove or to renew; what fails is tried again, with growing pauses.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"
#include "ref/channel/channel_set.hpp"

namespace godwit::ref {

// A version whose bytes are in a channel.
struct Elsewhere {
  std::uint16_t channel = 0;  // of this home's, from 1 on; 0: none
  ObjectId object;
  std::uint64_t version = 0;
  bool next = false;  // of an object that is there, or promised; not a new one
  [[nodiscard]] explicit operator bool() const noexcept { return channel != 0; }
};

// Any thread.
class HomeChannels {
 public:
  using Clock = std::chrono::steady_clock;
  // Beyond so many that wait to be removed the oldest are left to their time to live, and counted.
  static constexpr std::size_t kMaxPending = std::size_t{1} << 20;
  static constexpr std::chrono::milliseconds kFirstPause{50};
  static constexpr std::chrono::milliseconds kMostPause{5'000};
  // What close() waits for stores, at most, beside their own time-outs.
  static constexpr std::chrono::seconds kFarewell{2};

  struct Stats {
    std::uint64_t fetches = 0, removed = 0, failed = 0, dropped = 0, pending = 0;
  };

  HomeChannels(NodeId home, std::shared_ptr<ChannelSet> channels)
      : home_(home), channels_(std::move(channels)) {}
  ~HomeChannels() { close(); }
  HomeChannels(const HomeChannels&) = delete;
  HomeChannels& operator=(const HomeChannels&) = delete;

  // 0: there is none of that name.
  [[nodiscard]] std::uint16_t number_of(std::string_view name) const noexcept;
  [[nodiscard]] std::string_view name_of(std::uint16_t number) const noexcept;
  [[nodiscard]] std::string known() const;  // for messages

  // Waits for the store.
  [[nodiscard]] Status fetch(const Elsewhere& what, MutableBytes into);
  // That a writer put there what it says. Errors: invalid_argument, those of the channel.
  [[nodiscard]] Status check(const Elsewhere& what, std::uint64_t size);
  // Soon, by another thread; never waits.
  void remove(const Elsewhere& what);
  // `list` is called by that thread, now and then, for the keys that are wanted still.
  void renew_what(std::function<std::vector<Elsewhere>()> list);
  // Removes what it can within kFarewell. From here on nothing is removed.
  void close();
  [[nodiscard]] Stats stats() const;

 private:
  [[nodiscard]] NamedChannel& at(std::uint16_t number) const noexcept {
    return *channels_->all()[number - std::size_t{1}];
  }
  [[nodiscard]] std::string key_of(const Elsewhere& what) const;
  void start_thread();  // with the mutex held
  void run();
  void renew();
  [[nodiscard]] std::chrono::seconds renew_every() const;

  const NodeId home_;
  const std::shared_ptr<ChannelSet> channels_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Elsewhere> pending_;
  std::function<std::vector<Elsewhere>()> list_;
  std::thread thread_;
  bool closing_ = false;
  Stats stats_;
};

}  // namespace godwit::ref
