// How messages travel over a link that works, breaks, or is cut.
#include <algorithm>

#include "fabric/sim/network.hpp"

namespace godwit::fabric::sim {

Sent Network::send(Process& process, LinkId id, const wire::Header& header,
                   std::span<const Bytes> parts, std::uint64_t tag) {
  Link* link = find(id);
  if (link == nullptr || link->ends[side_of(id)].process != &process ||
      link->ends[side_of(id)].state != State::up) {
    return Sent::down;
  }
  FlightPtr flight = flights_.make();
  flight->to = peer_of(id);
  flight->header = header;
  flight->tag = tag;
  flight->size_bytes = 0;
  for (const Bytes part : parts) flight->size_bytes += part.size();
  ++counters_.messages_sent;
  counters_.bytes_sent += sizeof header + flight->size_bytes;

  const bool later =
      flight->size_bytes > options_.small_limit_bytes && random_.chance(options_.later_chance);
  if (random_.chance(options_.link_break_chance)) break_link(id);
  if (link->broken) {
    // Nothing sent from here on arrives. Parts sent `later` stay borrowed until on_down.
    return later ? Sent::later : Sent::now;
  }
  const Time leaves_at =
      timeline_.now() + (later ? timeline_.draw(options_.gather_delay) : Duration{0});
  const Time arrival = draw_arrival(*link, side_of(id), flight->size_bytes, leaves_at);
  if (!later) {
    flight->body = gather_parts(parts, flight->size_bytes);
    schedule_delivery(std::move(flight), arrival);
    return Sent::now;
  }
  flight->borrowed.assign(parts.begin(), parts.end());
  flight->borrowed_hash = hash_parts(parts);
  timeline_.schedule({.at = leaves_at,
                      .what = What::gather,
                      .link = id,
                      .task = [this, arrival, held = std::move(flight)]() mutable {
                        gather(std::move(held), arrival);
                      }});
  return Sent::later;
}

Time Network::draw_arrival(Link& link, std::uint8_t sender, std::size_t size_bytes,
                           Time leaves_at) {
  const std::uint64_t transfer_ns =
      options_.bytes_per_second == 0
          ? 0
          : size_bytes * std::uint64_t{1'000'000'000} / options_.bytes_per_second;
  Time arrival = leaves_at + timeline_.draw(options_.message_delay) +
                 Duration(static_cast<Duration::rep>(transfer_ns));
  // The other side's process learns of the link before of anything sent over it.
  arrival = std::max(arrival, link.ends[sender ^ 1U].up_at);
  if (random_.chance(options_.reorder_chance)) {
    return arrival + timeline_.draw(options_.reorder_delay);
  }
  Time& last = link.ends[sender].last_arrival;
  last = std::max(last, arrival);
  return last;
}

void Network::gather(FlightPtr flight, Time arrival) {
  const LinkId from = peer_of(flight->to);
  Link* link = find(from);
  // Once the end is down the sender has its parts back: they must not be touched.
  if (link == nullptr || !link->ends[side_of(from)].works()) return;
  if (link->broken && !random_.chance(options_.survive_break_chance)) return;
  if (hash_parts(flight->borrowed) != flight->borrowed_hash) {
    timeline_.violation("a sender changed parts that a send() answered `later` still borrows");
  }
  flight->body = gather_parts(flight->borrowed, flight->size_bytes);
  flight->borrowed.clear();
  const std::uint64_t tag = flight->tag;
  timeline_.after(timeline_.draw(options_.message_delay),
                  {.what = What::sent,
                   .target = link->ends[side_of(from)].process,
                   .link = from,
                   .task = [this, from, tag] {
                     const Link* now = find(from);
                     if (now == nullptr || !now->ends[side_of(from)].works()) return;
                     now->ends[side_of(from)].process->port().events->on_sent(from, tag);
                   }});
  schedule_delivery(std::move(flight), arrival);
}

void Network::schedule_delivery(FlightPtr flight, Time at) {
  const LinkId to = flight->to;
  const std::uint64_t detail = mix64(flight->header.id) ^ mix64(flight->size_bytes) ^
                               static_cast<std::uint64_t>(flight->header.kind);
  timeline_.schedule(
      {.at = at,
       .what = What::message,
       .target = find(to)->ends[side_of(to)].process,
       .link = to,
       .detail = detail,
       .task = [this, held = std::move(flight)]() mutable { deliver(std::move(held)); }});
}

void Network::deliver(FlightPtr flight) {
  Link* link = find(flight->to);
  if (link == nullptr || !link->ends[side_of(flight->to)].works()) return;
  if (link->broken && !random_.chance(options_.survive_break_chance)) return;
  if (link->cut) {
    link->stalled.push_back(std::move(flight));
    return;
  }
  const LinkId to = flight->to;
  TransportEvents& events = *link->ends[side_of(to)].process->port().events;
  if (flight->size_bytes >= options_.discard_from_bytes && flight->size_bytes > 0 &&
      random_.chance(options_.discard_chance)) {
    Message message(flight->header, Message::Discarded{});
    events.on_message(to, message);
  } else {
    Message message(flight->header, flight->body.view(), &flight->body);
    events.on_message(to, message);
  }
  ++counters_.messages_delivered;
}

Counters Network::counters() const noexcept {
  Counters counters = counters_;
  counters.messages_lost = counters.messages_sent - counters.messages_delivered - flights_.in_use();
  return counters;
}

}  // namespace godwit::fabric::sim
