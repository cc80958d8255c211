// How links end: closed, broken, cut off by a partition, or with their process.
#include <algorithm>

#include "fabric/sim/network.hpp"

namespace godwit::fabric::sim {

void Network::close(Process& process, LinkId id) {
  Link* link = find(id);
  if (link == nullptr || link->ends[side_of(id)].process != &process) return;
  End& end = link->ends[side_of(id)];
  if (end.state != State::up && end.state != State::connecting) return;
  const bool was_up = end.state == State::up;
  end.state = was_up ? State::closing : State::abandoned;
  // What was sent so far arrives first, unless it was reordered beyond that.
  const Time last = std::max(end.last_arrival, timeline_.now());
  const Duration delay = (last - timeline_.now()) + timeline_.draw(options_.message_delay);
  if (was_up && !link->cut && !link->broken) {
    schedule_down(peer_of(id), delay, {ErrorCode::link_lost, "the peer closed the link"});
  }
  schedule_down(id, delay + timeline_.draw(options_.message_delay), {ErrorCode::none, "closed"});
}

void Network::break_link(LinkId id) {
  Link* link = find(id);
  if (link == nullptr || link->broken) return;
  link->broken = true;
  ++counters_.links_broken;
  for (const LinkId end : {id, peer_of(id)}) {
    schedule_down(end, timeline_.draw(options_.down_delay),
                  {ErrorCode::link_lost, "the connection broke"});
  }
}

std::size_t Network::break_links(ProcessId a, ProcessId b) {
  std::size_t broken = 0;
  for (std::uint32_t slot = 0; slot < links_.size(); ++slot) {
    const Link& link = links_[slot];
    if (!link.used || link.broken || link.ends[1].process == nullptr) continue;
    const ProcessId from = link.ends[0].process->id();
    const ProcessId to = link.ends[1].process->id();
    if ((from != a || to != b) && (from != b || to != a)) continue;
    break_link(id_of(slot, link.generation, 0));
    ++broken;
  }
  return broken;
}

bool Network::break_any() {
  if (links_.empty()) return false;
  const std::size_t start = random_.below(links_.size());
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const auto slot = static_cast<std::uint32_t>((start + i) % links_.size());
    if (!links_[slot].used || links_[slot].broken) continue;
    break_link(id_of(slot, links_[slot].generation, 0));
    return true;
  }
  return false;
}

void Network::schedule_down(LinkId id, Duration delay, Error why) {
  const Link* link = find(id);
  if (link == nullptr) return;
  const End& end = link->ends[side_of(id)];
  if (end.state == State::absent || end.state == State::down) return;
  timeline_.after(delay, {.what = What::down,
                          .target = end.process,
                          .link = id,
                          .task = [this, id, reason = std::move(why)] { take_down(id, reason); }});
}

void Network::take_down(LinkId id, const Error& why) {
  Link* link = find(id);
  if (link == nullptr) return;
  End& end = link->ends[side_of(id)];
  if (end.state == State::down) return;
  end.state = State::down;
  link->broken = true;
  TransportEvents* events = end.reports ? end.process->port().events : nullptr;
  tell_peer(id);
  release_if_over(id);
  if (events != nullptr) events->on_down(id, why);
}

void Network::tell_peer(LinkId id) {
  const Link* link = find(id);
  if (link->cut) return;  // the peer's own timeout tells it, or the end of the partition
  schedule_down(peer_of(id), timeline_.draw(options_.down_delay),
                {ErrorCode::link_lost, "the peer's end of the link is gone"});
}

void Network::release_if_over(LinkId id) {
  Link* link = find(id);
  for (const End& end : link->ends) {
    if (end.state != State::down && end.state != State::absent) return;
  }
  link->stalled.clear();
  link->used = false;
  ++link->generation;
  --live_links_;
  free_.push_back(static_cast<std::uint32_t>((id.value & UINT32_MAX) >> 1U));
}

void Network::set_island(ProcessId process, std::uint32_t island) {
  islands_[process.index] = island;
}

void Network::islands_changed() {
  for (std::uint32_t slot = 0; slot < links_.size(); ++slot) {
    Link& link = links_[slot];
    if (!link.used || link.ends[1].process == nullptr) continue;
    const bool cut = !reachable(link.ends[0].process->id(), link.ends[1].process->id());
    if (cut == link.cut) continue;
    link.cut = cut;
    ++link.cut_count;
    const LinkId id = id_of(slot, link.generation, 0);
    if (cut) {
      schedule_cut_timeout(id);
      schedule_cut_timeout(peer_of(id));
      continue;
    }
    for (FlightPtr& flight : std::exchange(link.stalled, {})) {
      schedule_delivery(std::move(flight),
                        timeline_.now() + timeline_.draw(options_.message_delay));
    }
    for (const LinkId end : {id, peer_of(id)}) {
      if (link.ends[side_of(end)].state == State::down) tell_peer(end);
    }
  }
}

void Network::schedule_cut_timeout(LinkId id) {
  const Link* link = find(id);
  const std::uint32_t cut_count = link->cut_count;
  timeline_.after(options_.liveness_timeout + timeline_.draw(options_.down_delay),
                  {.what = What::timeout, .link = id, .task = [this, id, cut_count] {
                     const Link* now = find(id);
                     if (now == nullptr || now->cut_count != cut_count) return;
                     schedule_down(id, Duration{0},
                                   {ErrorCode::unreachable, "no sign of life from the peer"});
                   }});
}

}  // namespace godwit::fabric::sim
