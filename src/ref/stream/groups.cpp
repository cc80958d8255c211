// Groups: who is in them, and where they are.
#include <algorithm>

#include "ref/stream/refusals.hpp"
#include "ref/stream/stream_store.hpp"
#include "ref/stream/visit.hpp"

namespace godwit::ref::stream {
namespace {

Result<std::uint64_t> offset_of(const Topic& topic, const Position& position) {
  switch (position.kind) {
    case Position::Kind::oldest: return topic.readable_from(0);
    case Position::Kind::end: return topic.end;
    case Position::Kind::offset: break;
  }
  if (position.offset > topic.end) {
    return fail(ErrorCode::invalid_argument,
                "topic '{}' has {} items, and none at offset {}: begin at its end at the latest",
                topic.name, topic.end, position.offset);
  }
  const std::uint64_t readable = topic.readable_from(position.offset);
  if (readable == position.offset) return readable;
  return fail(ErrorCode::not_found,
              "topic '{}' does not keep the item at offset {} any more: begin at {}, or keep more "
              "for replay",
              topic.name, position.offset, readable);
}

GroupStats stats_of(const Topic& topic, const Group& group) {
  GroupStats stats{.id = group.id,
                   .name = group.name,
                   .next = group.next,
                   .acked = group.outstanding.first().value_or(group.next),
                   .lag = topic.end - group.next + group.outstanding.items(),
                   .delivered = group.delivered,
                   .redelivered = group.redelivered,
                   .filtered = group.filtered,
                   .consumers = group.consumers};
  group.outstanding.for_each([&](const Outstanding::Piece& piece) {
    if (piece.lease != Outstanding::kNobody) stats.leased += piece.range.size();
  });
  return stats;
}

Result<Group*> make_group(TopicVisit& visit, std::string_view name, const GroupOptions& options) {
  Topic& topic = visit.topic();
  if (topic.groups.size() >= StreamStore::kMaxGroups) {
    return refuse_more(topic, "groups", StreamStore::kMaxGroups);
  }
  GODWIT_TRY(const std::uint64_t start, offset_of(topic, options.start));
  const GroupId id{++topic.groups_made};
  Group& group = topic.groups[id.value];
  group.id = id;
  group.name = name;
  group.filter = options.filter;
  group.lasting = options.lasting;
  group.next = start;
  visit.need({start, topic.end}, TopicVisit::Need::more);
  if (topic.groups_made == topic.options.groups_awaited) visit.settle_all();
  return &group;
}

}  // namespace

Result<GroupId> StreamStore::join(Member consumer, TopicId id, std::string_view name,
                                  const GroupOptions& options) {
  GODWIT_CHECK(check_name(name, "group"));
  GODWIT_CHECK(options.filter.check());
  GODWIT_TRY(TopicPointer pointer, state_->get(id));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_CHECK(visit.check_there());
  GODWIT_TRY(Share * share, visit.admit(consumer));
  Topic& topic = visit.topic();
  Group* group = topic.group_named(name);
  if (group == nullptr) {
    GODWIT_TRY(group, make_group(visit, name, options));
  } else if (group->filter != options.filter) {
    return fail(ErrorCode::invalid_argument,
                "group '{}' of topic '{}' has another filter: join it with the same one, or make "
                "a group of your own",
                name, topic.name);
  }
  if (std::find(share->groups.begin(), share->groups.end(), group->id) == share->groups.end()) {
    share->groups.push_back(group->id);
    ++group->consumers;
  }
  return group->id;
}

Status StreamStore::quit(Member consumer, GroupKey key) {
  GODWIT_TRY(TopicPointer pointer, state_->get(key.topic));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_TRY(Group * group, visit.group(key));
  Share* share = visit.share_of(consumer);
  if (share == nullptr ||
      std::find(share->groups.begin(), share->groups.end(), key.group) == share->groups.end()) {
    return refuse_consumer(visit.topic(), *group, consumer);
  }
  visit.quit(*share, *group);
  return {};
}

void StreamStore::resign(Member member, TopicId id) {
  TopicPointer pointer = state_->find(id);
  if (pointer == nullptr) return;
  TopicVisit visit(*state_, std::move(pointer));
  visit.let_go(member);
}

Status StreamStore::remove_group(GroupKey key) {
  GODWIT_TRY(TopicPointer pointer, state_->get(key.topic));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_TRY(Group * group, visit.group(key));
  visit.remove_group(*group);
  return {};
}

Status StreamStore::seek(GroupKey key, Position to) {
  GODWIT_TRY(TopicPointer pointer, state_->get(key.topic));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_TRY(Group * group, visit.group(key));
  Topic& topic = visit.topic();
  GODWIT_TRY(const std::uint64_t offset, offset_of(topic, to));
  // In this order: what the group needs before and after is not freed in between.
  visit.need({offset, topic.end}, TopicVisit::Need::more);
  visit.detach(*group);
  group->next = offset;
  visit.tell_items(*group);
  return {};
}

Result<GroupStats> StreamStore::describe(GroupKey key) const {
  GODWIT_TRY(TopicPointer pointer, state_->get(key.topic));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_TRY(const Group* group, visit.group(key));
  return stats_of(visit.topic(), *group);
}

std::vector<GroupStats> StreamStore::groups(TopicId id) const {
  std::vector<GroupStats> all;
  TopicPointer pointer = state_->find(id);
  if (pointer == nullptr) return all;
  TopicVisit visit(*state_, std::move(pointer));
  for (const auto& [number, group] : visit.topic().groups) {
    all.push_back(stats_of(visit.topic(), group));
  }
  return all;
}

}  // namespace godwit::ref::stream
