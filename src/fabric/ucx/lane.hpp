// One connection of a link that bodies travel on: the control socket, or one of those beside it. A
// body stays on its lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include "fabric/control/socket.hpp"
#include "fabric/ucx/outgoing_body.hpp"

namespace godwit::fabric::ucx {

struct Link;
struct Lane;

// What the sockets of links report to their transport.
class UcxLinkOwner {
 public:
  virtual void control_closed(Link& link, const Error& why) = 0;
  virtual void control_frame(Link& link) = 0;
  virtual MutableBytes chunk_begins(Lane& lane, std::uint64_t stream, std::size_t size) = 0;
  virtual void chunk_arrived(Lane& lane, std::uint64_t stream) = 0;
  [[nodiscard]] virtual Status body_announced(Lane& lane, Bytes notice) = 0;

 protected:
  ~UcxLinkOwner() = default;
};

struct Lane final : ControlEvents {
  explicit Lane(Link& of) noexcept : link(of) {}

  // The events are the lane's from here on.
  void attach(UcxLinkOwner& to, std::unique_ptr<ControlSocket> connection,
              const Heartbeat& heartbeat) {
    owner = &to;
    socket = std::move(connection);
    socket->set_events(this);
    socket->start_heartbeat(heartbeat);
  }
  [[nodiscard]] bool can_send() const {
    return socket != nullptr && socket->is_open() && !socket->chunk_is_going_out();
  }
  // Not given to the socket yet.
  [[nodiscard]] std::uint64_t waiting_bytes() const {
    return std::accumulate(going.begin(), going.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& body) { return sum + body.left; });
  }

  Link& link;
  UcxLinkOwner* owner = nullptr;
  std::unique_ptr<ControlSocket> socket;
  std::deque<OutgoingBody> going;  // chunk by chunk, by turns
  bool chunk_of_front = false;     // what the socket sends, or sent last, is the front one's

  void on_frame(Bytes, std::vector<Fd>&) override { owner->control_frame(link); }
  void on_closed(const Error& why) override { owner->control_closed(link, why); }
  MutableBytes on_chunk(std::uint64_t stream, std::size_t size) override {
    return owner->chunk_begins(*this, stream, size);
  }
  void on_chunk_end(std::uint64_t stream) override { owner->chunk_arrived(*this, stream); }
  Status on_notice(Bytes notice) override { return owner->body_announced(*this, notice); }
};

}  // namespace godwit::fabric::ucx
