#include "fabric/sim/network.hpp"

#include <algorithm>

#include "base/fail.hpp"

namespace godwit::fabric::sim {

namespace {

Address address_of(ProcessId process) {
  return {.scheme = Address::Scheme::sim, .host = {}, .port = 0, .index = process.index};
}

}  // namespace

void Network::register_process(Process& process) {
  const std::size_t index = process.id().index;
  if (processes_.size() <= index) {
    processes_.resize(index + 1, nullptr);
    islands_.resize(index + 1, 0);
  }
  processes_[index] = &process;
}

void Network::forget_process(Process& process) {
  process.port() = {};
  for (std::uint32_t slot = 0; slot < links_.size(); ++slot) {
    for (std::uint8_t side = 0; side < 2; ++side) {
      Link& link = links_[slot];
      if (!link.used || link.ends[side].process != &process) continue;
      if (link.ends[side].state == State::down) continue;
      const LinkId id = id_of(slot, link.generation, side);
      link.ends[side].state = State::down;
      link.broken = true;
      ++counters_.links_broken;
      tell_peer(id);
      release_if_over(id);
    }
  }
}

Result<Address> Network::listen(Process& process, const Address& address) {
  if (address.scheme != Address::Scheme::sim) {
    return fail(ErrorCode::bad_address,
                "sim process {} cannot listen at {}: the address must be sim:{}",
                process.id().index, address.index, process.id().index);
  }
  if (address.index != 0 && address.index != process.id().index) {
    return fail(ErrorCode::bad_address,
                "sim process {} cannot listen at sim:{}: that is another process",
                process.id().index, address.index);
  }
  if (process.port().listening) {
    return fail(ErrorCode::address_in_use, "sim process {} listens already", process.id().index);
  }
  process.port().listening = true;
  return address_of(process.id());
}

Result<LinkId> Network::connect(Process& process, const Address& address) {
  if (!process.alive()) {
    return fail(ErrorCode::shutting_down, "sim process {} has crashed and cannot connect",
                process.id().index);
  }
  if (address.scheme != Address::Scheme::sim || address.index >= processes_.size() ||
      processes_[address.index] == nullptr) {
    return fail(ErrorCode::bad_address,
                "sim process {} cannot connect: sim:{} is no process of this world",
                process.id().index, address.index);
  }
  const ProcessId target{static_cast<std::uint32_t>(address.index)};
  const LinkId id = open_link(process);
  timeline_.after(
      timeline_.draw(options_.message_delay),
      {.what = What::arrive, .link = id, .task = [this, id, target] { arrive(id, target); }});
  timeline_.after(options_.connect_timeout,
                  {.what = What::timeout, .link = id, .task = [this, id] {
                     const Link* link = find(id);
                     if (link == nullptr || link->ends[0].state != State::connecting) return;
                     schedule_down(id, Duration{0},
                                   {ErrorCode::unreachable,
                                    "no answer to the connection request within connect_timeout"});
                   }});
  return id;
}

LinkId Network::open_link(Process& process) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(links_.size()));
    links_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  Link& link = links_[slot];
  const std::uint32_t generation = link.generation;
  link = Link{};
  link.generation = generation;
  link.used = true;
  link.ends[0] = {&process, State::connecting, {}, {}, true};
  ++live_links_;
  return id_of(slot, generation, 0);
}

void Network::arrive(LinkId caller, ProcessId target) {
  Link* link = find(caller);
  if (link == nullptr || link->ends[0].state != State::connecting) return;
  const ProcessId asking = link->ends[0].process->id();
  if (!reachable(asking, target)) return;  // connect_timeout will tell
  Process* process = current(target);
  if (process == nullptr || !process->port().listening ||
      random_.chance(options_.connect_failure_chance)) {
    schedule_down(caller, timeline_.draw(options_.message_delay),
                  {ErrorCode::unreachable,
                   fmt::format("nobody listens at sim:{}; is the process up?", target.index)});
    return;
  }
  link->ends[1] = {process, State::connecting, {}, {}, false};
  const LinkId callee = peer_of(caller);
  timeline_.schedule({.at = timeline_.now(),
                      .what = What::up,
                      .target = process,
                      .link = callee,
                      .task = [this, callee] { accept(callee); }});
}

void Network::accept(LinkId callee) {
  Link* link = find(callee);
  if (link == nullptr || link->broken || link->ends[1].state != State::connecting) return;
  if (link->ends[0].state != State::connecting) return;
  const LinkId caller = peer_of(callee);
  const Duration delay = timeline_.draw(options_.message_delay);
  Process* asking = link->ends[0].process;
  Process* accepting = link->ends[1].process;
  link->ends[0].up_at = timeline_.now() + delay;
  link->ends[1].up_at = timeline_.now();
  link->ends[1].state = State::up;
  link->ends[1].reports = true;
  timeline_.after(delay,
                  {.what = What::up, .target = asking, .link = caller, .task = [this, caller] {
                     come_up(caller);
                   }});
  const Hello hello = asking->port().hello;
  accepting->port().events->on_up(callee, hello);
}

void Network::come_up(LinkId caller) {
  Link* link = find(caller);
  if (link == nullptr || link->broken || link->ends[0].state != State::connecting) return;
  if (link->cut) return;  // connect_timeout will tell
  link->ends[0].state = State::up;
  ++counters_.links_made;
  const Hello hello = link->ends[1].process->port().hello;
  link->ends[0].process->port().events->on_up(caller, hello);
}

LinkId Network::id_of(std::uint32_t slot, std::uint32_t generation, std::uint8_t side) noexcept {
  return {(std::uint64_t{generation} << 32U) | (std::uint64_t{slot} << 1U) | side};
}

Network::Link* Network::find(LinkId id) noexcept {
  const std::uint64_t slot = (id.value & UINT32_MAX) >> 1U;
  if (slot >= links_.size()) return nullptr;
  Link& link = links_[slot];
  return link.used && link.generation == id.value >> 32U ? &link : nullptr;
}

Process* Network::current(ProcessId id) const noexcept {
  Process* process = processes_[id.index];
  return process->alive() && process->port().events != nullptr ? process : nullptr;
}

bool Network::reachable(ProcessId a, ProcessId b) const noexcept {
  return islands_[a.index] == islands_[b.index];
}

}  // namespace godwit::fabric::sim
