// Functions that outlive their deadlines, and the status a peer may ask for.
#include "call/status.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "call/engine.hpp"
#include "trace/json.hpp"

namespace godwit::call {
namespace {

constexpr std::size_t kMaxReasonBytes = 400;

std::int64_t in_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

// An object's list and, beside it, how many entries there are. True if some were left out.
template <class Items, class Write>
bool write_list(trace::Json& out, const std::string& name, const Items& items, Write write) {
  out.field(name + "_total", items.size()).key(name).open('[');
  const std::size_t enough = out.text().size() + kStatusListBytes;
  bool cut = false;
  for (const auto& item : items) {
    cut = out.text().size() >= enough;
    if (cut) break;
    out.open('{');
    write(item);
    out.close('}');
  }
  out.close(']');
  return cut;
}

bool write_overdue(trace::Json& out, const std::vector<OverdueFunction>& overdue) {
  return write_list(out, "overdue", overdue, [&](const OverdueFunction& one) {
    out.field("function", one.function).field("bundle", one.bundle);
    out.field("bundle_id", one.bundle_id.hex()).field("caller", one.caller);
    out.field("caller_id", to_hex(one.caller_id.value));
    if (one.origin) out.field("origin_id", to_hex(one.origin.value));
    out.field("running_ms", in_ms(one.running)).field("overdue_ms", in_ms(one.overdue));
  });
}

bool write_links(trace::Json& out, std::vector<const LinkState*> links) {
  std::sort(links.begin(), links.end(), [](const LinkState* a, const LinkState* b) {
    return std::pair(a->peer->name, a->peer->id.value) <
           std::pair(b->peer->name, b->peer->id.value);
  });
  return write_list(out, "links", links, [&](const LinkState* link) {
    const Peer& peer = *link->peer;
    out.field("peer", peer.name).field("peer_id", to_hex(peer.id.value));
    out.field("transport", link->port->name());
    out.field("calls_in", link->incoming_count).field("calls_out", link->outgoing_count);
    out.field("credits_left", link->credits).field("credits", link->granted);
    // Calls wait for the peer, which uses its first link.
    out.field("calls_waiting", peer.link() == link ? peer.waiting.size() : 0);
  });
}

bool write_code(trace::Json& out, const code::Store& store) {
  std::vector<code::ResidenceInfo> bundles = store.list();
  // The largest first, should the list be cut.
  std::sort(bundles.begin(), bundles.end(), [](const auto& a, const auto& b) {
    return std::tie(b.memory_bytes, a.name, a.state) < std::tie(a.memory_bytes, b.name, b.state);
  });
  out.key("code").open('{').field("memory_bytes", store.memory_bytes());
  out.field("budget_bytes", store.memory_budget_bytes());
  out.field("retired_bytes", store.retired_bytes()).field("evictions", store.evictions());
  const bool cut = write_list(out, "bundles", bundles, [&](const code::ResidenceInfo& one) {
    out.field("name", one.name).field("id", one.bundle.hex()).field("state", one.state);
    out.field("tier", one.tier).field("memory_bytes", one.memory_bytes);
    out.field("calls", one.calls).field("calls_inside", one.calls_inside);
    if (!one.pinned.empty()) out.field("pinned", one.pinned);
    if (!one.error.empty()) out.field("error", one.error.substr(0, kMaxReasonBytes));
  });
  out.close('}');
  return cut;
}

void write_counters(trace::Json& out, const Engine::Stats& stats) {
  out.field("calls_started", stats.calls_started).field("calls_ended", stats.calls_ended);
  out.field("calls_taken", stats.calls_taken).field("calls_resent", stats.calls_resent);
  out.field("late_replies", stats.late_replies).field("need_code_sent", stats.need_code_sent);
  out.field("code_sent", stats.code_sent).field("code_bytes_sent", stats.code_bytes_sent);
  out.field("hops_sent", stats.hops_sent).field("credits_violated", stats.credits_violated);
  out.field("inline_overruns", stats.overruns).field("protocol_errors", stats.protocol_errors);
  out.field("status_asked", stats.status_asked);
}

}  // namespace

OverdueFunction Engine::describe(const IncomingCall& call, Time now) const {
  OverdueFunction one;
  one.function = call.bundle.functions()[call.function].name;
  one.bundle = call.bundle.name();
  one.bundle_id = call.bundle_id;
  const auto peer = peers_.find(call.caller);
  const bool named = peer != peers_.end() && !peer->second->name.empty();
  one.caller = named ? peer->second->name : to_hex(call.caller.value);
  one.caller_id = call.caller;
  if (call.travels) one.origin = NodeId{call.travel.origin_node};
  one.running = now - Time{call.began_ns.load(std::memory_order_relaxed)};
  one.overdue = now - call.deadline;
  return one;
}

// What still waits for a worker is not overdue: it has not begun, and will not.
void Engine::look_for_overdue(Time now) {
  running_.for_each([&](IncomingCall& call) {
    if (call.overdue || call.deadline >= now) return;
    if (call.began_ns.load(std::memory_order_relaxed) == 0) return;
    call.overdue = true;
    observer_.on_overdue(describe(call, now));
  });
}

void Engine::overdue_ended(IncomingCall& call) {
  observer_.on_overdue_ended(describe(call, scheduler_.now()));
}

std::vector<OverdueFunction> Engine::overdue() {
  const Time now = scheduler_.now();
  look_for_overdue(now);
  std::vector<OverdueFunction> all;
  running_.for_each([&](IncomingCall& call) {
    if (call.overdue) all.push_back(describe(call, now));
  });
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.overdue > b.overdue; });
  return all;
}

std::string Engine::status() {
  const std::vector<OverdueFunction> late = overdue();
  std::vector<const LinkState*> links;
  for (const auto& port : ports_) {
    for (const auto& [id, link] : port->links_) {
      if (link->up) links.push_back(link.get());
    }
  }
  trace::Json out;
  out.open('{').field("name", options_.name).field("id", to_hex(options_.self.value));
  out.field("epoch", options_.epoch.value);
  out.field("uptime_ms", in_ms(scheduler_.now() - clock_origin_));
  out.field("serves", store_ != nullptr).field("credits_granted", options_.credits);
  out.key("calls").open('{').field("made", calls_outstanding()).field("inside", calls_inside());
  out.field("on_workers", running_.size()).field("travelling", travelling_.size());
  out.field("watching", watches_.size());
  out.field("waiting", waiting_.size());
  out.field("overdue", late.size()).close('}');
  bool truncated = write_overdue(out, late);
  truncated = write_links(out, std::move(links)) || truncated;
  if (store_ != nullptr) truncated = write_code(out, *store_) || truncated;
  out.key("counters").open('{');
  write_counters(out, stats_);
  observer_.on_status_counters(out);
  out.close('}');
  observer_.on_status(out);
  return out.field("truncated", truncated).close('}').text();
}

void Engine::on_ask_status(LinkState& link, const wire::Header& header) {
  ++stats_.status_asked;
  const Time now = scheduler_.now();
  if (now - link.status_window > std::chrono::seconds(1)) {
    link.status_window = now;
    link.status_count = 0;
  }
  Buffer kept;
  if (++link.status_count <= kStatusesPerSecond) kept = Buffer::copy_of(bytes_of(status()));
  const Bytes body = kept.view();
  send_message(link, wire::Header{.kind = wire::Kind::status, .id = header.id}, {&body, 1},
               std::move(kept), nullptr);
}

}  // namespace godwit::call
