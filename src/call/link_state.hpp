// What the engine knows about one link, and about one peer.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
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

// Messages of a link so far, as one end sees them; byes do not count.
struct Traffic {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

struct LinkState {
  Port* port = nullptr;
  LinkId id;
  Peer* peer = nullptr;  // known once up; before, only for a link we dialled
  bool up = false;
  bool came_up = false;              // it was up once: its end is not a failed attempt to dial
  std::uint32_t credits = 0;         // calls we may still send
  std::uint32_t granted = 0;         // credits when nothing is outstanding
  std::uint32_t outgoing_count = 0;  // calls whose OutgoingCall::link this is
  std::uint32_t incoming_count = 0;  // calls of the peer that we have not ended,
  std::uint32_t without_credit = 0;  // and of these, those that the peer has the credit of
  // Those of them that a cancel looks through: as few as the peer was granted, and our fetches.
  IntrusiveList<IncomingCall, IncomingTag> incoming;
  // The others, which gave the credit back to wait: by the peer's id, as they may be thousands.
  std::unordered_map<std::uint64_t, IncomingCall*> waiting_long;
  Time status_window;                 // since when statuses are counted,
  std::uint32_t status_count = 0;     // and how many the peer has asked for since
  std::vector<std::uint64_t> tokens;  // by FunctionRef::index; 0: not learnt yet

  [[nodiscard]] std::uint64_t token_of(const FunctionRef& function) const noexcept {
    return function.index < tokens.size() ? tokens[function.index] : 0;
  }
  void set_token(const FunctionRef& function, std::uint64_t token) {
    if (function.index >= tokens.size()) tokens.resize(function.index + 16, 0);
    tokens[function.index] = token;
  }

  std::uint32_t borrowed = 0;  // sends whose parts the transport still reads
  std::uint32_t asking = 0;    // our need_codes that are not answered
  std::uint32_t owed = 0;      // the peer's need_codes that we have not answered

  // Both ends count alike, which tells when nothing is under way between them (farewell.cpp).
  Traffic traffic;
  Traffic traffic_before;  // at the last look
  Time quiet_since;
  bool leaving = false;  // nothing new is started here; what is outstanding finishes
  bool closing = false;
  bool said_bye = false;
  bool heard_bye = false;
  Traffic said;        // in our last bye
  Traffic peer_total;  // in the peer's last bye

  // Nothing that was begun here is unfinished, as far as this side can know. A call that ended
  // early counts until its credit is back: its answer is still to come.
  [[nodiscard]] bool at_rest() const noexcept {
    return outgoing_count == 0 && credits >= granted && incoming_count == 0 && borrowed == 0 &&
           asking == 0 && owed == 0;
  }
};

// A control message that waits for a link.
struct QueuedMessage {
  wire::Header header;
  Buffer body;
};

struct Peer {
  static constexpr std::size_t kMaxQueued = 4096;

  NodeId id;
  std::string name;               // for messages; empty until a link was up
  std::vector<LinkState*> links;  // those that are up and not being left; the first one is used
  IntrusiveList<OutgoingCall, OutgoingTag> waiting;  // for a link, or for a credit
  std::vector<QueuedMessage> queued;
  bool serves = false;  // a node, which others may reach too; not a client
  bool broke = false;   // the last link to it did not end in good order
  bool in_use = false;  // some link is of this peer; true only inside forget_strangers()
  bool dialling = false;
  unsigned attempt = 0;  // which address is tried
  Duration backoff{};
  Time news_until;  // a node nobody has told of is dialled again until then; 0: it is not
  bool retry_armed = false;
  Error last_error;

  [[nodiscard]] LinkState* link() const noexcept { return links.empty() ? nullptr : links.front(); }
  [[nodiscard]] std::string describe() const {
    return name.empty() ? "node " + to_hex(id.value) : "node '" + name + "'";
  }
};

}  // namespace godwit::call
