// The transport between processes of one host: rings in shared memory, set up over a Unix socket
// that also tells the peer's death. See transport.hpp in fabric/ for the contract.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "fabric/control/acceptor.hpp"
#include "fabric/idle_memory.hpp"
#include "fabric/reactor.hpp"
#include "fabric/shm/doorbell.hpp"
#include "fabric/shm/layout.hpp"
#include "fabric/shm/link.hpp"
#include "fabric/transport.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::fabric::shm {

// A received message is copied out of the ring before anybody looks at it: the peer could change
// it while it is being checked. Small bodies lie in a scratch buffer until the handler returns,
// larger ones in a Buffer of their own.
//
// When the peer dies, what it had sent completely is delivered first, then on_down (link_lost).
class ShmTransport final : public Transport, private LinkOwner, private FdHandler {
 public:
  struct Options {
    // What this process says of itself on every new link.
    std::function<Hello()> hello{};
    const trust::FleetKey* key = nullptr;  // outlives the transport
    // Of each link's inbound ring; a power of two from kMinRingSize to kMaxRingSize.
    std::size_t ring_size = 256 * 1024;
    // Bytes that large messages may hold here before they are complete, all links together. A
    // message beyond that arrives as Message::Discarded.
    std::size_t inbound_budget = std::size_t{8} << 30;
    std::chrono::milliseconds handshake_timeout{5000};
    // How long close() waits for a peer that does not take what was sent before.
    std::chrono::milliseconds close_grace{200};
    std::size_t max_pending_handshakes = 64;
  };

  // Reactor and events outlive the transport. Register it with reactor.add(); remove it before it
  // dies. Errors: invalid_argument, resource_exhausted.
  [[nodiscard]] static Result<std::unique_ptr<ShmTransport>> create(Reactor& reactor,
                                                                    TransportEvents& events,
                                                                    Options options);
  // Peers see their links end. No event follows.
  ~ShmTransport() override;

  // At most kMaxLinks links at a time: connect() answers resource_exhausted, clients are refused.
  [[nodiscard]] Result<Address> listen(const Address& address) override;
  [[nodiscard]] Result<LinkId> connect(const Address& address) override;
  [[nodiscard]] Sent send(LinkId link, const wire::Header& header, std::span<const Bytes> parts,
                          std::uint64_t tag) override;
  [[nodiscard]] std::size_t small_limit() const override { return kSmallLimit; }
  [[nodiscard]] bool carries_descriptors() const override { return true; }
  [[nodiscard]] Status send_descriptors(LinkId link, const wire::Header& header, Bytes body,
                                        std::span<const int> descriptors) override;
  void close(LinkId link) override;
  std::size_t poll(std::size_t budget) override;
  [[nodiscard]] bool prepare_to_sleep() override;
  // None: the transport watches its doorbell itself, edge-triggered, so that nobody has to read it.
  [[nodiscard]] int wake_fd() const override { return -1; }

 private:
  struct Event {
    enum class Kind : std::uint8_t { up, down, sent } kind;
    LinkId link;
    std::uint64_t tag = 0;
    Error why{};
    Hello peer{};
  };
  struct Reservation;

  ShmTransport(Reactor& reactor, TransportEvents& events, Options options, Doorbell doorbell);

  // Making and ending links.
  [[nodiscard]] Result<Link*> add_link();
  [[nodiscard]] Result<SetupPayload> payload_for(const Link& link) const;
  [[nodiscard]] Status open_peer(Link& link, SetupPayload& payload);
  [[nodiscard]] Result<SetupPayload> answer(Established& established);
  void connected(LinkId id, Result<Established> established);
  void bring_up(Link& link, Established established);
  void on_control_frame(Link& link, Bytes frame, std::vector<Fd>& fds) override;
  void on_control_closed(Link& link, const Error& why) override;
  void go_down(Link& link, Error why);
  void violated(Link& link);
  void remove(Link& link);
  [[nodiscard]] Link* find(LinkId id) const;
  void on_fd(std::uint32_t) override {}

  // Moving messages.
  std::size_t deliver_events();
  void notify(Link& link);
  void settle_notifications();
  void start_sending(Link& link);
  std::size_t send_queued();
  std::size_t send_queued(Link& link);
  std::size_t receive_hot(std::size_t budget);
  std::size_t receive_ready(std::size_t budget);
  std::size_t receive_ending(std::size_t budget);
  std::size_t receive(Link& link, std::size_t budget);
  [[nodiscard]] bool take_record(Link& link, std::uint64_t packed);
  [[nodiscard]] bool take_middling(Link& link, const wire::Header& header, std::size_t size);
  void deliver_stream(Link& link, std::uint8_t stream);
  void make_hot(Link& link);
  void make_cold(std::size_t hot_index);
  [[nodiscard]] bool has_work();

  Reactor& reactor_;
  TransportEvents& events_;
  Options options_;
  Doorbell doorbell_;
  InboundBudget inbound_;
  IdleMemory idle_memory_;
  bool armed_ = false;
  std::uint64_t polls_ = 0;
  std::uint64_t next_serial_ = 1;

  // Links whose rings are polled directly; the rest are found through the doorbell.
  static constexpr std::size_t kMaxHot = 8;
  std::array<Link*, kMaxHot> hot_{};
  std::size_t hot_count_ = 0;
  // Cold links with records left over from a poll that ran out of budget.
  std::array<std::uint64_t, kLinkWords> left_over_{};

  std::vector<Link*> unfenced_;
  std::vector<Link*> sending_;
  std::vector<Link*> ending_;
  std::deque<Event> queued_events_;
  std::vector<std::uint64_t> sent_tags_;  // scratch
  Buffer scratch_;

  std::array<std::unique_ptr<Link>, kMaxLinks> links_;
  std::unique_ptr<LinkAcceptor> acceptor_;
};

}  // namespace godwit::fabric::shm
