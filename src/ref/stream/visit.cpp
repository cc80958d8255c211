#include "ref/stream/visit.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "ref/stream/refusals.hpp"

namespace godwit::ref::stream {

TopicVisit::TopicVisit(StreamState& state, TopicPointer topic)
    : state_(state), topic_(std::move(topic)), lock_(topic_->mutex), now_(state.clock.now()) {
  act();
}

TopicVisit::~TopicVisit() {
  if (topic_->removed) {
    forget_ = topic_->leases.size() == 0;
  } else if (const Time next = next_time(); next < topic_->scheduled) {
    topic_->scheduled = next;
    state_.schedule(*topic_, next);
  }
  lock_.unlock();
  if (forget_) state_.forget(*topic_);
  if (freed_) state_.arena.free(freed_, Arena::Wait::no);
  for (const Extent& extent : freed_more_) state_.arena.free(extent, Arena::Wait::no);
  if (superseded_) state_.end_life(*superseded_);
  for (const std::uint64_t waiter : ready_) {
    if (state_.options.on_ready) state_.options.on_ready(waiter);
  }
}

void TopicVisit::act() {
  if (topic_->scheduled > now_) return;
  // A sweep may have taken it off the heap: where it stands, it is set anew by the end of the
  // visit.
  topic_->scheduled = kNever;
  while (Lease* lease = topic_->lease_times.due(now_)) lapse(*lease);
  advance_replay();
  if (topic_->forget_at <= now_) remove_topic();
}

Time TopicVisit::next_time() const {
  Time next = std::min(topic_->lease_times.next(), topic_->forget_at);
  const Duration kept = topic_->options.replay.time;
  if (kept > Duration{} && topic_->replay_batch < topic_->end_batch()) {
    const Time over = after(topic_->batch(topic_->replay_batch).appended, kept);
    // Afterwards items or bytes keep it, and only an append changes that.
    if (over > now_) next = std::min(next, over);
  }
  return next;
}

Status TopicVisit::check_there() const {
  if (topic_->removed) return refuse_topic(topic_->id, state_.options.home);
  return {};
}

Result<Share*> TopicVisit::admit(Member member) {
  const auto place = topic_->shares.find(key_of(member));
  if (place != topic_->shares.end() && place->second.member == member) return &place->second;
  GODWIT_TRY(const Holders::Admission admission, state_.holders.admit(member.process));
  if (admission.ended) superseded_ = admission.ended;
  if (place != topic_->shares.end()) {
    let_go(place->second);
    topic_->shares.erase(place);
  }
  const auto [added, is_new] = topic_->shares.try_emplace(key_of(member), member);
  added->second.life = admission.life;
  return &added->second;
}

Share* TopicVisit::share_of(Member member) noexcept {
  const auto place = topic_->shares.find(key_of(member));
  return place != topic_->shares.end() && place->second.member == member ? &place->second : nullptr;
}

Result<Group*> TopicVisit::group(GroupKey key) {
  GODWIT_CHECK(check_there());
  Group* group = topic_->group_of(key.group);
  if (group == nullptr) return refuse_group(*topic_, key.group);
  return group;
}

Result<Lease*> TopicVisit::lease(Member member, LeaseId number) {
  Lease* lease = topic_->leases.find(number.value);
  if (lease == nullptr || lease->share->member != member) {
    return refuse_lease(*topic_, number, member);
  }
  return lease;
}

void TopicVisit::pin(Lease& lease, std::uint64_t number) {
  if (!lease.pinned.empty() && lease.pinned.back() == number) return;
  lease.pinned.push_back(number);
  ++topic_->batch(number).pins;
}

void TopicVisit::unpin(Lease& lease) {
  for (const std::uint64_t number : lease.pinned) {
    --topic_->batch(number).pins;
    settle(number);
  }
  lease.pinned.clear();
  drop_front();
}

void TopicVisit::unpin(Lease& lease, OffsetRange done) {
  auto pinned =
      std::lower_bound(lease.pinned.begin(), lease.pinned.end(), topic_->batch_at(done.begin));
  while (pinned != lease.pinned.end()) {
    StoredBatch& batch = topic_->batch(*pinned);
    if (batch.range.begin >= done.end) break;
    if (lease.group->outstanding.has(batch.range, lease.number)) {
      ++pinned;
      continue;
    }
    --batch.pins;
    settle(*pinned);
    pinned = lease.pinned.erase(pinned);
  }
  drop_front();
}

void TopicVisit::lapse(Lease& lease) {
  lease.lapsed = true;
  topic_->lease_times.set(lease, kNever);
  if (lease.group == nullptr) return;
  if (lease.group->outstanding.give_back(lease.range, lease.number) != 0) tell_items(*lease.group);
}

void TopicVisit::end(Lease& lease) {
  lapse(lease);
  unpin(lease);
  lease.share->leases.remove(lease);
  if (lease.group != nullptr) lease.group->leases.remove(lease);
  lease.group = nullptr;
  topic_->leases.remove(lease);
}

void TopicVisit::detach(Group& group) {
  group.outstanding.for_each(
      [&](const Outstanding::Piece& piece) { need(piece.range, Need::less); });
  group.outstanding.clear();
  need({group.next, topic_->end}, Need::less);
  group.leases.for_each([&](Lease& lease) {
    topic_->lease_times.set(lease, kNever);
    group.leases.remove(lease);
    lease.group = nullptr;
    lease.lapsed = true;
  });
}

void TopicVisit::remove_group(Group& group) {
  detach(group);
  tell_items(group);
  for (auto& [key, share] : topic_->shares) std::erase(share.groups, group.id);
  topic_->groups.erase(group.id.value);
}

void TopicVisit::quit(Share& share, Group& group) {
  share.leases.for_each([&](Lease& lease) {
    if (lease.group == &group) end(lease);
  });
  std::erase(share.groups, group.id);
  --group.consumers;
  if (group.consumers == 0 && !group.lasting) remove_group(group);
}

void TopicVisit::end_topic(std::optional<Error> why) {
  if (topic_->ended) return;
  topic_->ended = true;
  topic_->error = std::move(why);
  drop_front();
  tell_room();
  tell_all_groups();
}

void TopicVisit::remove_topic() {
  topic_->removed = true;
  topic_->ended = true;
  topic_->forget_at = kNever;
  topic_->options = {.groups_awaited = 0};
  state_.unname(*topic_);
  tell_room();
  while (!topic_->groups.empty()) remove_group(topic_->groups.begin()->second);
  topic_->replay_batch = topic_->end_batch();
  settle_all();
}

void TopicVisit::let_go(const Holders::Life& life) {
  auto place = topic_->shares.lower_bound({life.node.value, 0});
  while (place != topic_->shares.end() && place->first.first == life.node.value) {
    if (place->second.life > life.number) {
      ++place;
      continue;
    }
    let_go(place->second);
    place = topic_->shares.erase(place);
  }
}

void TopicVisit::let_go(Member member) {
  Share* share = share_of(member);
  if (share == nullptr) return;
  let_go(*share);
  topic_->shares.erase(key_of(member));
}

void TopicVisit::let_go(Share& share) {
  while (!share.leases.empty()) end(share.leases.front());
  while (!share.groups.empty()) quit(share, *topic_->group_of(share.groups.back()));
  if (share.produces == ProducerKind::sole) end_topic(lost_producer(*topic_, share.member));
  share.produces.reset();
}

}  // namespace godwit::ref::stream
