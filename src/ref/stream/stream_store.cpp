#include "ref/stream/stream_store.hpp"

#include <algorithm>
#include <utility>

#include "ref/stream/refusals.hpp"
#include "ref/stream/visit.hpp"

namespace godwit::ref::stream {
namespace {

TopicStats stats_of(Topic& topic) {
  TopicStats stats{.id = topic.id,
                   .name = topic.name,
                   .oldest = topic.readable_from(0),
                   .end = topic.end,
                   .appended_bytes = topic.appended_bytes,
                   .max_bytes = topic.options.max_bytes,
                   .kept_bytes = topic.kept_bytes,
                   .kept_batches = topic.kept_batches,
                   .refused = topic.refused,
                   .groups = topic.groups.size(),
                   .leases = topic.leases.size(),
                   .ended = topic.ended,
                   .error = topic.error};
  for (const auto& [key, share] : topic.shares) stats.producers += share.produces ? 1 : 0;
  return stats;
}

void configure(TopicVisit& visit, const TopicOptions& options) {
  Topic& topic = visit.topic();
  if (topic.configured) return;
  topic.configured = true;
  topic.options = options;
  visit.advance_replay();
  visit.settle_all();
  visit.tell_room();
}

}  // namespace

StreamStore::StreamStore(const Clock& clock, Arena& arena, Options options)
    : state_(std::make_unique<StreamState>(clock, arena, std::move(options))) {}

StreamStore::~StreamStore() = default;

Result<TopicId> StreamStore::open(std::string_view name, const std::optional<TopicOptions>& options,
                                  std::uint64_t type) {
  GODWIT_CHECK(check_name(name, "topic"));
  if (options) GODWIT_CHECK(check_options(*options));
  for (;;) {
    GODWIT_TRY(TopicPointer topic, state_->find_or_make(name));
    const TopicId id = topic->id;
    TopicVisit visit(*state_, std::move(topic));
    if (visit.topic().removed) continue;  // at this moment, and its name with it
    std::uint64_t& known = visit.topic().type;
    if (known == 0) known = type;
    if (type != 0 && type != known) return refuse_type(visit.topic());
    if (options) configure(visit, *options);
    return id;
  }
}

Result<TopicId> StreamStore::find(std::string_view name) const {
  TopicPointer topic = state_->find(name);
  if (topic == nullptr) return refuse_name(name, state_->options.home);
  const TopicId id = topic->id;
  TopicVisit visit(*state_, std::move(topic));
  if (visit.topic().removed) return refuse_name(name, state_->options.home);
  return id;
}

Status StreamStore::close(TopicId id, std::optional<Error> why) {
  GODWIT_TRY(TopicPointer pointer, state_->get(id));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_CHECK(visit.check_there());
  visit.end_topic(std::move(why));
  return {};
}

Status StreamStore::remove(TopicId id) {
  GODWIT_TRY(TopicPointer pointer, state_->get(id));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_CHECK(visit.check_there());
  visit.remove_topic();
  return {};
}

void StreamStore::stop_waiting(std::uint64_t waiter) {
  state_->waiters.remove(waiter);
}

bool StreamStore::renew(Holder holder) {
  return state_->holders.renew(holder);
}

void StreamStore::leave(Holder holder) {
  if (const auto life = state_->holders.take(holder)) state_->end_life(*life);
}

void StreamStore::lost(NodeId node) {
  state_->holders.lost(node);
}

void StreamStore::cut_off(NodeId node) {
  state_->holders.cut_off(node);
}

Time StreamStore::sweep() {
  const Time now = state_->clock.now();
  while (const auto life = state_->holders.take_silent(now)) {
    ++state_->holders_lost;
    state_->end_life(*life);
  }
  while (TopicPointer topic = state_->take_due(now)) {
    const TopicVisit visit(*state_, std::move(topic));
  }
  const Time silent = state_->holders.next();
  const std::lock_guard lock(state_->times_mutex);
  return std::min(silent, state_->times.next());
}

Result<TopicStats> StreamStore::describe(TopicId id) const {
  GODWIT_TRY(TopicPointer pointer, state_->get(id));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_CHECK(visit.check_there());
  return stats_of(visit.topic());
}

std::vector<TopicStats> StreamStore::list(std::size_t at_most) const {
  std::vector<TopicStats> listed;
  for (TopicPointer& topic : state_->all()) {
    if (listed.size() >= at_most) break;
    TopicVisit visit(*state_, std::move(topic));
    if (!visit.topic().removed) listed.push_back(stats_of(visit.topic()));
  }
  return listed;
}

StreamStore::Stats StreamStore::stats() const {
  Stats stats{.holders = state_->holders.size(),
              .waiters = state_->waiters.size(),
              .holders_lost = state_->holders_lost};
  const std::shared_lock lock(state_->table);
  stats.topics = state_->topics.size();
  return stats;
}

}  // namespace godwit::ref::stream
