// What all topics of a home have in common.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ref/home/holders.hpp"
#include "ref/home/time_heap.hpp"
#include "ref/home/waiters.hpp"
#include "ref/stream/stream_store.hpp"
#include "ref/stream/topic.hpp"

namespace godwit::ref::stream {

using TopicPointer = std::shared_ptr<Topic>;

// Locks are taken in this order: a topic's; then one of table, holders, waiters, times. Never two
// topics' at once.
struct StreamState {
  StreamState(const Clock& clock, Arena& arena, StreamStore::Options options);
  ~StreamState();

  // Null: there is none.
  [[nodiscard]] TopicPointer find(TopicId topic) const;
  [[nodiscard]] TopicPointer find(std::string_view name) const;
  // Errors: overload.
  [[nodiscard]] Result<TopicPointer> find_or_make(std::string_view name);
  // Errors: not_found.
  [[nodiscard]] Result<TopicPointer> get(TopicId topic) const;
  [[nodiscard]] std::vector<TopicPointer> all() const;
  // No name finds it from here on.
  void unname(const Topic& topic);
  void forget(Topic& topic);
  void schedule(Topic& topic, Time at);
  // Nothing if none is due.
  [[nodiscard]] TopicPointer take_due(Time now);
  // Lets go of everything it has.
  void end_life(const Holders::Life& life);

  const Clock& clock;
  Arena& arena;
  const StreamStore::Options options;
  Holders holders;
  Waiters waiters;  // the objects are places to wait at: see TopicVisit

  mutable std::shared_mutex table;
  std::unordered_map<std::string, TopicId> names;
  std::unordered_map<TopicId, TopicPointer> topics;
  std::uint64_t topics_made = 0;

  std::mutex times_mutex;
  TimeHeap<Topic> times;
  std::atomic<std::uint64_t> holders_lost{0};
};

}  // namespace godwit::ref::stream
