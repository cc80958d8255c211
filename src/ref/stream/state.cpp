#include "ref/stream/state.hpp"

#include <utility>

#include "ref/stream/refusals.hpp"
#include "ref/stream/visit.hpp"

namespace godwit::ref::stream {

StreamState::StreamState(const Clock& clock_used, Arena& arena_used, StreamStore::Options wanted)
    : clock(clock_used),
      arena(arena_used),
      options(std::move(wanted)),
      holders(clock, {.lease = options.holder_lease,
                      .lost_grace = options.lost_grace,
                      .max_holders = options.max_holders,
                      .is_linked = options.is_linked}) {}

StreamState::~StreamState() {
  for (const auto& [id, topic] : topics) {
    for (const StoredBatch& batch : topic->batches) {
      if (batch.extent) arena.free(batch.extent, Arena::Wait::no);
    }
  }
}

TopicPointer StreamState::find(TopicId topic) const {
  const std::shared_lock lock(table);
  const auto place = topics.find(topic);
  return place == topics.end() ? nullptr : place->second;
}

TopicPointer StreamState::find(std::string_view name) const {
  const std::shared_lock lock(table);
  const auto known = names.find(std::string(name));
  return known == names.end() ? nullptr : topics.at(known->second);
}

Result<TopicPointer> StreamState::find_or_make(std::string_view name) {
  const std::unique_lock lock(table);
  const auto known = names.find(std::string(name));
  if (known != names.end()) return topics.at(known->second);
  if (topics.size() >= options.max_topics) {
    return fail(ErrorCode::overload,
                "home {} cannot make topic '{}': it has {}; remove some, or raise max_topics",
                to_hex(options.home.value), name, topics.size());
  }
  auto topic = std::make_shared<Topic>();
  topic->id = {++topics_made};
  topic->name = name;
  names.emplace(name, topic->id);
  topics.emplace(topic->id, topic);
  return topic;
}

Result<TopicPointer> StreamState::get(TopicId topic) const {
  TopicPointer pointer = find(topic);
  if (pointer == nullptr) return refuse_topic(topic, options.home);
  return pointer;
}

std::vector<TopicPointer> StreamState::all() const {
  const std::shared_lock lock(table);
  std::vector<TopicPointer> all;
  all.reserve(topics.size());
  for (const auto& [id, topic] : topics) all.push_back(topic);
  return all;
}

void StreamState::unname(const Topic& topic) {
  const std::unique_lock lock(table);
  names.erase(topic.name);
}

void StreamState::forget(Topic& topic) {
  {
    const std::lock_guard lock(times_mutex);
    times.set(topic, kNever);
  }
  const std::unique_lock lock(table);
  topics.erase(topic.id);
}

void StreamState::schedule(Topic& topic, Time at) {
  const std::lock_guard lock(times_mutex);
  times.set(topic, at);
}

TopicPointer StreamState::take_due(Time now) {
  TopicId id;
  {
    const std::lock_guard lock(times_mutex);
    Topic* topic = times.due(now);
    if (topic == nullptr) return nullptr;
    id = topic->id;
    times.set(*topic, kNever);
  }
  return find(id);
}

void StreamState::end_life(const Holders::Life& life) {
  for (TopicPointer& topic : all()) TopicVisit(*this, std::move(topic)).let_go(life);
}

}  // namespace godwit::ref::stream
