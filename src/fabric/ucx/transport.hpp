// Links between hosts, or over loopback when asked: UCX active messages over tcp, or RDMA where
// there is a device (the same code; not tested on one).
//
// A link is a control socket (handshake, heartbeat, death) and a UCX endpoint each way, made from
// the worker addresses that the handshake carried. The link is up once an active message has gone
// through in both directions. Every message carries the link's token, because anybody who can reach
// UCX's ports can send to them: messages with a token that is no live link's are dropped and
// counted. Nothing is encrypted. The bytes are in docs/protocol.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "fabric/control/acceptor.hpp"
#include "fabric/idle_memory.hpp"
#include "fabric/reactor.hpp"
#include "fabric/transport.hpp"
#include "fabric/ucx/cells.hpp"
#include "fabric/ucx/hold_trust.hpp"
#include "fabric/ucx/idle_backoff.hpp"
#include "fabric/ucx/link_table.hpp"
#include "fabric/ucx/worker.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::fabric::ucx {

struct UcxOptions {
  Hello self;
  const trust::FleetKey* key = nullptr;  // outlives the transport; null: loopback only
  // The address to listen at, or for a client that of a peer: UCX opens its own ports on the
  // interface it names or is reached by, and all links use that one (see devices_for).
  Address network{.scheme = Address::Scheme::tcp, .host = "127.0.0.1"};
  // For the handshake, and again for the first active message.
  std::chrono::milliseconds connect_timeout{5000};
  // How long close() lets the peer take what was sent.
  std::chrono::milliseconds close_limit{1000};
  Heartbeat heartbeat{};
  std::size_t max_links = 4096;  // at most 65535; more are refused
  // Memory for bodies that are arriving by rendezvous, all links together. A body that could never
  // fit is discarded (its header is delivered); one that does not fit now waits at its sender.
  std::size_t inbound_budget_bytes = std::size_t{8} << 30;
  // Rendezvous waiting for that memory; one more is discarded.
  std::size_t max_waiting_bodies = 1024;
  // Connections that bodies of a link are spread over once it has much to send, the control socket
  // among them; as many as the side with fewer wants. At most kMaxConnections.
  std::size_t connections = 1;
  static constexpr std::size_t kMaxConnections = 16;
  // Small messages share active messages with peers that want the same.
  bool batches = true;
};

// What went wrong without anybody to tell, and what was sent in batches. Only grows.
struct UcxCounters {
  std::uint64_t unknown_token = 0;     // messages dropped: forged, or of a link that ended
  std::uint64_t malformed = 0;         // messages dropped: no header, or not a header's size
  std::uint64_t late = 0;              // messages dropped: the link ended while they were queued
  std::uint64_t discarded_bodies = 0;  // delivered without their body
  std::uint64_t overdue_sends = 0;     // requests UCX still held when on_down could wait no longer
  std::uint64_t batches = 0;           // sent
  std::uint64_t batched_messages = 0;  // sent in those, or about to be
};

// Threads: as the contract says. Beyond it: create() and the destructor run on a thread that owns
// the reactor, or while it has no progress thread.
class UcxTransport final : public Transport, private UcxLinkOwner {
 public:
  // `reactor` and `events` outlive the transport; it adds itself to the reactor. May block for
  // milliseconds: UCX looks at the machine.
  [[nodiscard]] static Result<std::unique_ptr<UcxTransport>> create(Reactor& reactor,
                                                                    TransportEvents& events,
                                                                    UcxOptions options);
  // Ends all links at once, without events. Borrowed parts are free afterwards.
  ~UcxTransport() override;

  [[nodiscard]] Result<Address> listen(const Address& address) override;
  [[nodiscard]] Result<LinkId> connect(const Address& address) override;
  [[nodiscard]] Sent send(LinkId link, const wire::Header& header, std::span<const Bytes> parts,
                          std::uint64_t tag) override;
  [[nodiscard]] std::size_t small_limit() const override { return kSmallLimit; }
  // Messages may still arrive until on_down.
  void close(LinkId link) override;
  std::size_t poll(std::size_t budget) override;
  [[nodiscard]] bool prepare_to_sleep() override;
  [[nodiscard]] int wake_fd() const override { return -1; }  // watched by itself, when it matters

  [[nodiscard]] const UcxCounters& counters() const noexcept { return counters_; }
  // Links in any state.
  [[nodiscard]] std::size_t link_count() const noexcept { return links_.size(); }
  // Memory held for bodies that are arriving.
  [[nodiscard]] std::size_t inbound_bytes() const noexcept { return fetching_bytes_; }
  // Connections of all links for bodies, control sockets not counted.
  [[nodiscard]] std::size_t lane_count() const noexcept;
  // UCX's address of this process; anybody who has it can send here.
  [[nodiscard]] const std::string& worker_address() const noexcept { return worker_->address(); }

  // Active message ids: the protocol's messages, and the transport's own.
  static constexpr unsigned kMessageAm = 1;
  static constexpr unsigned kControlAm = 2;
  static constexpr unsigned kOfferAm = 3;
  static constexpr unsigned kBatchAm = 4;

 private:
  UcxTransport(Reactor& reactor, TransportEvents& events, UcxOptions options, Devices devices,
               std::unique_ptr<Worker> worker);

  // links.cpp: how a link comes up
  [[nodiscard]] Status open();
  [[nodiscard]] LinkSetup::Options setup_options() const;
  [[nodiscard]] Result<SetupPayload> answer(Established& established);
  void attach_accepted(Established established);
  void handshake_done(LinkId id, Result<Established> established);
  [[nodiscard]] Status wire(Link& link, const Established& established);
  void attach_socket(Link& link, std::unique_ptr<ControlSocket> socket);
  void peer_greeted(Link& link);
  void come_up_if_ready(Link& link);
  void set_deadline(Link& link, std::chrono::milliseconds after);
  void deadline_passed(LinkId id);

  // ending.cpp: how it goes down
  void end(Link& link, Error why);
  void say_bye(Link& link);
  void peer_said_bye(Link& link);
  void control_frame(Link& link) override;
  void control_closed(Link& link, const Error& why) override;
  void take_last_looks();
  static void on_endpoint_error(void* transport, ucp_ep_h endpoint, ucs_status_t status);
  void handle_endpoint_errors();
  void finish_endings();
  [[nodiscard]] bool finish_ending(Link& link);

  // send.cpp
  enum class ControlWord : std::uint32_t {
    greeting = 1,
    bye = 2,
    go = 3,      // send the body that was offered
    refuse = 4,  // forget it
    coming = 5,  // a body follows on the control socket, unasked
    taken = 6,   // so many bytes of such
    lanes = 7,   // connect to me again, for bodies
  };
  // A body as UCX takes it: one range, or a vector of ranges.
  struct Body {
    const void* data = nullptr;
    std::size_t count = 0;  // bytes, or entries of the vector
    std::size_t size = 0;   // bytes
    bool is_vector = false;
  };
  [[nodiscard]] static Body borrow(SendCell& cell, std::span<const Bytes> parts,
                                   std::size_t size) noexcept;
  [[nodiscard]] bool send_control(Link& link, ControlWord word, std::uint64_t id = 0);
  [[nodiscard]] SendCell* prepare(Link& link, const wire::Header& header);
  [[nodiscard]] Sent give_up(Link& link, SendCell* cell);
  [[nodiscard]] Sent post(Link& link, SendCell* cell, unsigned am_id, const Body& body);
  void recycle(SendCell* cell) noexcept;
  static void on_sent(void* request, ucs_status_t status, void* cell);
  std::size_t deliver_sent();

  // batching.cpp
  [[nodiscard]] bool joins_batch(Link& link, const wire::Header& header);
  [[nodiscard]] Sent collect(Link& link, const wire::Header& header, std::span<const Bytes> parts,
                             std::size_t size);
  void note_batch(Link& link);
  void send_batch(Link& link);
  void flush();
  void flush_held();
  void flush_if_old();
  static ucs_status_t on_batch(void* transport, const void* header, std::size_t header_size,
                               void* data, std::size_t size, const ucp_am_recv_param_t* param);
  [[nodiscard]] bool deliver_batched(InboundCell& cell, Link& link);
  void drop_batched(InboundCell& cell);

  // receive.cpp
  static ucs_status_t on_message(void* transport, const void* header, std::size_t header_size,
                                 void* data, std::size_t size, const ucp_am_recv_param_t* param);
  static ucs_status_t on_control(void* transport, const void* header, std::size_t header_size,
                                 void* data, std::size_t size, const ucp_am_recv_param_t* param);
  [[nodiscard]] InboundCell* admit(const void* header, std::size_t header_size);
  ucs_status_t take(InboundCell* cell, void* data, std::size_t size, std::uint64_t attributes);
  void start_rendezvous();
  void forget_waiting(InboundCell* cell);
  void discard(InboundCell* cell);
  void fetch(InboundCell* cell);
  static void on_fetched(void* request, ucs_status_t status, std::size_t size, void* cell);
  void fetched(InboundCell* cell, bool complete);
  std::size_t deliver_inbox(std::size_t budget);
  void deliver(InboundCell& cell, Link& link);
  void hand_over(InboundCell& cell, Link& link);
  [[nodiscard]] bool is_ready(Link& link);
  void handle_control(Link& link, const wire::Header& header);
  void release(InboundCell* cell);

  // bodies.cpp: large bodies over the control socket
  [[nodiscard]] Sent offer(Link& link, const wire::Header& header, std::span<const Bytes> parts,
                           std::size_t size, std::uint64_t tag);
  static ucs_status_t on_offer(void* transport, const void* header, std::size_t header_size,
                               void* data, std::size_t size, const ucp_am_recv_param_t* param);
  void accept_offer(Link& link, InboundCell* cell);
  void answered(Link& link, std::uint64_t stream, bool wanted);
  MutableBytes chunk_begins(Lane& lane, std::uint64_t stream, std::size_t size) override;
  void chunk_arrived(Lane& lane, std::uint64_t stream) override;
  std::size_t move_bodies();
  std::size_t deliver_sent_bodies();
  void start_moving(Link& link);
  std::size_t move_lane(Lane& lane, bool reads);
  void feed(Lane& lane);
  void end_turn(Lane& lane);
  [[nodiscard]] static bool has_arriving(const Link& link, std::uint64_t stream);
  [[nodiscard]] bool can_feed() const;
  void drop_bodies(Link& link);

  // unasked.cpp
  [[nodiscard]] bool goes_unasked(const Link& link, std::uint64_t size) const;
  [[nodiscard]] Sent send_unasked(Link& link, const wire::Header& header,
                                  std::span<const Bytes> parts, std::size_t size,
                                  std::uint64_t tag);
  [[nodiscard]] Status body_announced(Lane& lane, Bytes notice) override;
  void expect_bodies(Link& link);
  void unasked_delivered(Link& link, std::uint64_t size);
  void peer_took(Link& link, std::uint64_t bytes);

  // lanes.cpp: further connections of a link
  [[nodiscard]] static bool has_going(const Link& link);
  [[nodiscard]] static Lane& lane_for(Link& link);
  void want_lanes(Link& link);
  void open_lanes(Link& link);
  void lane_made(LinkId id, Result<Established> established);
  [[nodiscard]] static bool is_for_lane(const Established& established);
  [[nodiscard]] Result<SetupPayload> answer_lane(Established& established);
  void attach_lane(Link& link, std::unique_ptr<ControlSocket> socket);

  std::size_t move_messages(std::size_t budget);
  std::size_t deliver_changes();

  // Every message that arrives passes through whatever watches UCX's descriptor, and pays for it,
  // also when nobody sleeps: a process that keeps busy stops watching.
  static constexpr std::uint32_t kBusyPolls = 64;
  [[nodiscard]] bool watch_worker();
  void unwatch_worker();

  // Something to tell about a link, kept until poll() may tell it.
  struct Change {
    LinkId link;
    bool up = false;
    Hello peer;
    Error why;
  };
  struct SentBody {
    LinkId link;
    std::uint64_t tag;
  };
  struct EndpointError {
    ucp_ep_h endpoint;
    ucs_status_t status;
  };

  Reactor& reactor_;
  TransportEvents& events_;
  const UcxOptions options_;
  const Devices devices_;
  const bool sends_bodies_itself_;  // over the control sockets; else by UCX's rendezvous
  std::unique_ptr<Worker> worker_;
  IdleBackoff backoff_;
  bool watches_worker_ = false;
  std::uint32_t busy_polls_ = 0;  // since the last sleep
  UcxCounters counters_;
  bool in_reactor_ = false;

  CellPool<SendCell> send_cells_;
  CellPool<InboundCell> inbound_cells_;
  CellQueue<SendCell> finished_sends_;
  CellQueue<InboundCell> inbox_;
  CellQueue<InboundCell> waiting_bodies_;  // rendezvous not started
  IdleMemory idle_memory_;
  std::vector<LinkId> moving_;         // links with bodies on the control socket
  std::vector<SentBody> sent_bodies_;  // to be told
  std::size_t fetching_count_ = 0;
  std::size_t fetching_bytes_ = 0;

  std::uint64_t turn_ = 1;
  bool in_poll_ = false;
  std::vector<LinkId> batching_;  // links with collected messages
  Time oldest_batch_;             // since when there are such
  std::size_t collected_ = 0;     // messages since then
  HoldTrust hold_trust_;
  std::size_t batched_inbound_ = 0;  // messages in the inbox's batches

  LinkTable links_;
  std::vector<LinkId> ending_;
  std::vector<LinkId> hung_up_;  // the control socket is gone; see Link::last_looks
  std::vector<EndpointError> endpoint_errors_;
  std::vector<Endpoint> stuck_endpoints_;  // of links that could not wait for UCX any longer
  std::deque<Change> changes_;
  std::unique_ptr<LinkAcceptor> acceptor_;
};

}  // namespace godwit::fabric::ucx
