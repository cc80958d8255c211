// One link through a relay, and how far it has come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/scheduler.hpp"
#include "fabric/control/link_setup.hpp"
#include "fabric/link_id.hpp"
#include "fabric/relay/bodies.hpp"
#include "fabric/relay/sealed_stream.hpp"
#include "fabric/transport.hpp"
#include "fabric/watches.hpp"
#include "trust/seal.hpp"

namespace godwit::fabric::relay {

//   calling -> proving -> greeting -> up -> saying_bye -> ended -> (gone)
// Every state but `up` has a deadline. Any state goes to `ended` when the link fails.
enum class LinkState : std::uint8_t {
  calling,   // the relay lets us in and finds the other side
  proving,   // the fleet key is proved to the peer, through the relay
  greeting,  // records are sealed; the peer's hello has not come yet
  up,
  saying_bye,  // closed by us; waits until what was sent has arrived
  ended,       // on_down is to be told
};

struct Link;

class LinkOwner {
 public:
  virtual void link_ready(Link& link, std::uint32_t ready) = 0;

 protected:
  ~LinkOwner() = default;
};

// What the two halves of a key exchange made.
struct LinkSeals {
  trust::Seal out;
  trust::Seal in;
};

struct Link final : FdHandler {
  LinkId id;
  LinkState state = LinkState::calling;
  LinkOwner* owner = nullptr;
  std::string relay;       // for people: "relay:example.org:7443"
  bool accepted = false;   // the peer dialled
  bool announced = false;  // somebody above knows the id: on_down is owed
  std::unique_ptr<LinkSetup> setup;
  trust::KeyExchange exchange;
  std::optional<LinkSeals> seals;  // between handshake and stream
  Hello peer;
  std::unique_ptr<SealedStream> stream;

  bool busy = false;      // in the transport's list of links to look at
  bool readable = false;  // until a read finds nothing
  bool blocked = false;   // the socket takes no more until it says so
  std::deque<OutgoingBody> bodies;
  std::uint32_t next_stream = 1;
  std::vector<ArrivingBody> arriving;
  bool bye_sent = false;
  bool bye_received = false;
  Time last_heard;
  Time last_sent;
  TimerId deadline;
  Error why{ErrorCode::none, {}};

  void on_fd(std::uint32_t ready) override { owner->link_ready(*this, ready); }
};

// The links of a transport. An id whose link is gone finds nothing.
class LinkTable {
 public:
  explicit LinkTable(std::size_t max_links) : max_links_(max_links) {}

  // Null when max_links are there already.
  [[nodiscard]] Link* add() {
    if (size_ >= max_links_) return nullptr;
    std::size_t slot = 0;
    while (slot < slots_.size() && slots_[slot] != nullptr) ++slot;
    if (slot == slots_.size()) slots_.emplace_back();
    slots_[slot] = std::make_unique<Link>();
    slots_[slot]->id =
        make_link_id(Address::Scheme::relay, next_serial_++, static_cast<std::uint16_t>(slot));
    ++size_;
    return slots_[slot].get();
  }
  void remove(Link& link) {
    slots_[slot_of(link.id)].reset();
    --size_;
  }
  [[nodiscard]] Link* find(LinkId id) const noexcept {
    const std::size_t slot = slot_of(id);
    if (slot >= slots_.size() || slots_[slot] == nullptr || slots_[slot]->id != id) return nullptr;
    return slots_[slot].get();
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  template <class Visit>
  void for_each(const Visit& visit) {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      if (slots_[slot] != nullptr) visit(*slots_[slot]);
    }
  }

 private:
  const std::size_t max_links_;
  std::vector<std::unique_ptr<Link>> slots_;
  std::uint64_t next_serial_ = 1;
  std::size_t size_ = 0;
};

}  // namespace godwit::fabric::relay
