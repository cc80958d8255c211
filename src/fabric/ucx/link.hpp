// One link of the UCX transport: a control socket and an endpoint, and how far it has come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/scheduler.hpp"
#include "fabric/control/link_setup.hpp"
#include "fabric/control/socket.hpp"
#include "fabric/transport.hpp"
#include "fabric/ucx/cells.hpp"
#include "fabric/ucx/endpoint.hpp"
#include "fabric/ucx/lane.hpp"
#include "fabric/ucx/outgoing_body.hpp"
#include "fabric/ucx/unasked.hpp"

namespace godwit::fabric::ucx {

//   handshake -> wiring -> up -> saying_bye -> ending -> (gone)
// Every state but `up` has a deadline. Any state goes to `ending` when the link fails.
enum class LinkState : std::uint8_t {
  handshake,  // the control socket is being made and proved (client only)
  wiring,     // the endpoint exists; the first active message has not come through yet
  up,
  saying_bye,  // closed by us; waits until what was sent has arrived
  ending,      // waits for UCX to let go of the endpoint and of borrowed memory; then on_down
};

struct Link {
  LinkId id;
  LinkState state = LinkState::handshake;
  std::uint64_t token = 0;       // of what arrives; 0: not in the token table yet
  std::uint64_t peer_token = 0;  // of what is sent; the same unless the peer is this process
  Endpoint endpoint;
  std::unique_ptr<LinkSetup> setup;         // client, during the handshake
  Lane main{*this};                         // the control socket
  std::vector<std::unique_ptr<Lane>> more;  // beside it (lanes.cpp)
  Hello peer;                               // until it is told
  NodeId peer_node;
  Epoch peer_epoch;
  std::size_t sends_in_flight = 0;

  // Small messages that share an active message (batching.cpp).
  bool takes_batches = false;     // the peer said so
  bool has_batched = false;       // in the transport's list of such links
  std::uint64_t latest_turn = 0;  // in which a small message was sent
  SendCell* batch = nullptr;      // what was collected since
  std::size_t batch_size = 0;

  // Large bodies that go over the control socket (bodies.cpp).
  std::uint64_t next_stream = 1;
  std::vector<OutgoingBody> offered;  // the peer has not said yet that it has room
  std::vector<InboundCell*> arriving;
  std::size_t inbound_bodies = 0;  // arriving, or arrived and not delivered
  UnaskedOut unasked_out;
  UnaskedIn unasked_in;

  // Connections beside the control socket.
  bool takes_lanes = false;   // both sides want them
  bool lanes_wanted = false;  // asked for, once
  Address address;            // the peer's, if this side connected
  std::vector<std::unique_ptr<LinkSetup>> lane_setups;
  bool moves_bodies = false;  // in the transport's list of such links
  bool accepted = false;      // the peer connected to us
  bool announced = false;     // somebody above knows the id: on_down is owed
  bool greeted = false;       // the peer's greeting, or any other message, has come
  bool bye_sent = false;
  bool bye_received = false;
  bool overdue = false;          // in `ending`: waited long enough
  std::uint32_t last_looks = 0;  // polls left for what a gone peer had sent before
  TimerId deadline;
  Error why{ErrorCode::none, {}};  // in `ending`
};

}  // namespace godwit::fabric::ucx
