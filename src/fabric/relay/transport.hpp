// Links through a relay, for processes that cannot reach each other: both dial out to it, and it
// joins the two connections (server.hpp). Each link is a connection of its own.
//
// On it the peers prove the fleet key to each other as on any link; what follows is sealed with
// keys that the relay cannot know. All it sees is who talks to whom, when and how much.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fabric/idle_memory.hpp"
#include "fabric/reactor.hpp"
#include "fabric/relay/enrolment.hpp"
#include "fabric/relay/link.hpp"
#include "fabric/transport.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::fabric::relay {

struct RelayOptions {
  std::function<Hello()> hello;          // of this process; asked for each link
  const trust::FleetKey* key = nullptr;  // outlives the transport; there is no link without one
  // For the handshake with the relay, again for that with the peer, and for its hello.
  std::chrono::milliseconds connect_timeout{5000};
  // How long close() lets the peer take what was sent.
  std::chrono::milliseconds close_limit{1000};
  // Wide: on a bad line tcp is silent for seconds, and a relay or peer that ended says so.
  Heartbeat heartbeat{.interval = std::chrono::milliseconds(1000),
                      .silence = std::chrono::milliseconds(10'000)};
  std::size_t max_links = 4096;  // at most 65535; more are refused
  // Memory for bodies that are arriving, all links together. One that does not fit is discarded;
  // its header is delivered.
  std::size_t inbound_budget_bytes = std::size_t{8} << 30;
  std::function<void(const std::string&)> on_notice{};  // for an operator; may be empty
};

// Only grows.
struct RelayTransportCounters {
  std::uint64_t discarded_bodies = 0;  // delivered without their body
  std::uint64_t unsealed = 0;          // links ended by a record that did not open
};

// Threads: as the contract says. Beyond it: create() and the destructor run on a thread that owns
// the reactor, or while it has no progress thread.
class RelayTransport final : public Transport, private LinkOwner {
 public:
  // Bodies up to this size are sealed at once.
  static constexpr std::size_t kSmallLimit = std::size_t{64} << 10;
  // Bodies of a link that are on their way at the same time, by turns; others wait.
  static constexpr std::size_t kMaxStreams = 16;
  // Sealed and not yet taken by the peer; a link that would hold more ends (link_lost).
  static constexpr std::size_t kMaxQueuedBytes = std::size_t{256} << 20;

  // `reactor` and `events` outlive the transport; it adds itself to the reactor. Errors:
  // unauthorised (no fleet key), invalid_argument.
  [[nodiscard]] static Result<std::unique_ptr<RelayTransport>> create(Reactor& reactor,
                                                                      TransportEvents& events,
                                                                      RelayOptions options);
  // Ends all links at once, without events. Borrowed parts are free afterwards.
  ~RelayTransport() override;

  // Enrols at the relay, now and whenever the connection to it was lost; the relay need not be
  // there yet.
  [[nodiscard]] Result<Address> listen(const Address& address) override;
  [[nodiscard]] Result<LinkId> connect(const Address& address) override;
  [[nodiscard]] Sent send(LinkId link, const wire::Header& header, std::span<const Bytes> parts,
                          std::uint64_t tag) override;
  [[nodiscard]] std::size_t small_limit() const override { return kSmallLimit; }
  [[nodiscard]] bool is_detour() const override { return true; }
  // Messages may still arrive until on_down.
  void close(LinkId link) override;
  std::size_t poll(std::size_t budget) override;
  [[nodiscard]] bool prepare_to_sleep() override;
  [[nodiscard]] int wake_fd() const override { return -1; }  // each link's socket is watched

  [[nodiscard]] const RelayTransportCounters& counters() const noexcept { return counters_; }
  // Links in any state.
  [[nodiscard]] std::size_t link_count() const noexcept { return links_.size(); }
  [[nodiscard]] std::size_t inbound_bytes() const noexcept { return inbound_bytes_; }
  [[nodiscard]] bool is_enrolled() const noexcept {
    return enrolment_ != nullptr && enrolment_->is_enrolled();
  }

 private:
  RelayTransport(Reactor& reactor, TransportEvents& events, RelayOptions options);

  // links.cpp: how a link comes up and goes down
  [[nodiscard]] LinkSetup::Options relay_setup() const;
  [[nodiscard]] LinkSetup::Options peer_setup() const;
  [[nodiscard]] Result<LinkId> call_relay(const Address& relay, const Request& request);
  void summoned(const Address& relay, const Token& token);
  void let_in(LinkId id, Result<Established> established);
  [[nodiscard]] SetupPayload peer_payload(const Link& link) const;
  [[nodiscard]] Status make_seals(Link& link, const Established& established) const;
  void proved(LinkId id, Result<Established> established);
  void start_records(Link& link, ControlSocket& socket);
  void set_deadline(Link& link, std::chrono::milliseconds after);
  void deadline_passed(LinkId id);
  void end(Link& link, Error why);
  [[nodiscard]] Error lost(const Link& link, const Error& why) const;
  std::size_t finish_endings();
  void arm_beat();
  void beat();

  // send.cpp
  [[nodiscard]] bool put(Link& link, RecordKind kind, std::uint32_t stream,
                         std::span<const Bytes> parts);
  void write(Link& link);
  void feed(Link& link);
  void seal_next_piece(Link& link);
  void say_bye(Link& link);
  std::size_t deliver_sent();

  // receive.cpp
  void link_ready(Link& link, std::uint32_t ready) override;
  void mark_busy(Link& link);
  [[nodiscard]] bool has_work(const Link& link) const;
  std::size_t receive(Link& link, std::size_t budget);
  [[nodiscard]] Status take(Link& link, const SealedStream::Record& record);
  [[nodiscard]] Status take_hello(Link& link, Bytes text);
  [[nodiscard]] Status take_message(Link& link, MutableBytes text);
  [[nodiscard]] Status take_first(Link& link, std::uint32_t stream, Bytes text);
  [[nodiscard]] Status take_more(Link& link, const SealedStream::Record& record);
  void take_bye(Link& link);
  void drop_arriving(Link& link);

  struct SentBody {
    LinkId link;
    std::uint64_t tag;
  };

  Reactor& reactor_;
  TransportEvents& events_;
  const RelayOptions options_;
  const trust::FleetKey relay_key_;
  RelayTransportCounters counters_;
  IdleMemory idle_memory_;
  LinkTable links_;
  std::vector<LinkId> busy_;
  std::vector<LinkId> ended_;
  std::vector<SentBody> sent_;  // to be told
  std::vector<Bytes> pieces_;   // of the record being sealed
  Buffer text_;                 // of the record being opened
  std::size_t inbound_bytes_ = 0;
  bool in_poll_ = false;
  TimerId beat_timer_;
  bool beats_ = false;
  std::unique_ptr<Enrolment> enrolment_;
};

}  // namespace godwit::fabric::relay
