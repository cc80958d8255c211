// What the engine knows about one link, and about one peer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/list.hpp"
#include "base/scheduler.hpp"
#include "call/incoming.hpp"
#include "call/outgoing.hpp"
#include "fabric/transport.hpp"

namespace godwit::call {

class Port;
struct Peer;

struct LinkState {
  Port* port = nullptr;
  LinkId id;
  Peer* peer = nullptr;  // known once up; before, only for a link we dialled
  bool up = false;
  std::uint32_t credits = 0;         // calls we may still send
  std::uint32_t granted = 0;         // of them when the link came up
  std::uint32_t incoming_count = 0;  // calls of the peer that we have not ended
  IntrusiveList<OutgoingCall, OutgoingTag> sent;
  IntrusiveList<IncomingCall, IncomingTag> incoming;
  Time status_window;                 // since when statuses are counted,
  std::uint32_t status_count = 0;     // and how many the peer has asked for since
  std::vector<std::uint64_t> tokens;  // by FunctionRef::index; 0: not learnt yet
};

// A control message that waits for a link.
struct QueuedMessage {
  wire::Header header;
  Buffer body;
};

struct Peer {
  static constexpr std::size_t kMaxQueued = 4096;

  NodeId id;
  std::string name;                                  // for messages; empty until a link was up
  std::vector<LinkState*> links;                     // those that are up; the first one is used
  IntrusiveList<OutgoingCall, OutgoingTag> waiting;  // for a link, or for a credit
  std::vector<QueuedMessage> queued;
  bool dialling = false;
  unsigned attempt = 0;  // which address is tried
  Duration backoff{};
  bool retry_armed = false;
  Error last_error;

  [[nodiscard]] LinkState* link() const noexcept { return links.empty() ? nullptr : links.front(); }
  [[nodiscard]] std::string describe() const {
    return name.empty() ? "node " + to_hex(id.value) : "node '" + name + "'";
  }
};

}  // namespace godwit::call
