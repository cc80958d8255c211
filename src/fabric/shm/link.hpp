// One link of the shm transport: two rings, the peer's doorbell, and what waits on either side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "fabric/control/link_setup.hpp"
#include "fabric/control/socket.hpp"
#include "fabric/shm/doorbell.hpp"
#include "fabric/shm/inbox.hpp"
#include "fabric/shm/outbox.hpp"
#include "fabric/shm/ring.hpp"
#include "fabric/transport.hpp"

namespace godwit::fabric::shm {

class Link;

// What a link's control socket tells the transport.
class LinkOwner {
 public:
  virtual ~LinkOwner() = default;
  virtual void on_control_frame(Link& link, Bytes frame, std::vector<Fd>& fds) = 0;
  virtual void on_control_closed(Link& link, const Error& why) = 0;
};

// Plain data of the transport's owner; the transport acts on it. At most one per slot.
class Link final : public ControlEvents {
 public:
  enum class State : std::uint8_t {
    making,      // a slot and a ring; nothing was promised to anybody
    connecting,  // connect() returned: on_up or on_down will follow
    up,
    closing,  // close() was called; what was sent before is still going out
    ending,   // the peer is gone; what arrived before is still delivered
    down,     // on_down is queued
  };

  Link(LinkOwner& owner, std::uint16_t slot_number, LinkId link_id, std::size_t ring_size,
       InboundBudget& budget)
      : id(link_id), slot(slot_number), outbox(ring_size), inbox(budget), owner_(owner) {}

  [[nodiscard]] bool receives() const { return state == State::up || state == State::ending; }
  // All that was sent is with the peer, or lies where it will look.
  [[nodiscard]] bool has_sent_all() const {
    return outbox.is_empty() && (socket == nullptr || !socket->has_queued_frames());
  }

  // The hot path reads these first.
  LinkId id;
  State state = State::making;
  bool announced = false;  // on_up was delivered: messages may follow
  bool hot = false;
  bool unfenced = false;  // notified without a fence since the last one
  bool sending = false;   // in the transport's list of links with a non-empty outbox
  std::uint16_t slot;
  std::uint32_t max_body = 0;        // of one record, in this process's ring
  std::uint64_t active_at_poll = 0;  // when a hot link last had something
  RingConsumer in;
  RingProducer out;
  PeerDoorbell peer;
  Outbox outbox;
  Inbox inbox;

  std::unique_ptr<LinkSetup> setup;       // while connecting
  std::unique_ptr<ControlSocket> socket;  // from then on
  Error end_reason;
  TimerId close_timer;

 private:
  void on_frame(Bytes frame, std::vector<Fd>& fds) override {
    owner_.on_control_frame(*this, frame, fds);
  }
  void on_closed(const Error& why) override { owner_.on_control_closed(*this, why); }

  LinkOwner& owner_;
};

}  // namespace godwit::fabric::shm
