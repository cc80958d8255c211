// The relay: processes that cannot reach each other dial out to it, and it joins their connections.
//
// It admits who holds the key that is made from the fleet's for it (trust::relay_key_of). That key
// proves nothing to nodes and opens nothing: what passes through is sealed between the peers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "fabric/control/acceptor.hpp"
#include "fabric/relay/joint.hpp"
#include "fabric/relay/pipes.hpp"
#include "fabric/relay/request.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::fabric::relay {

struct RelayServerOptions {
  Address listen;       // tcp
  trust::FleetKey key;  // relay_key_of(the fleet's)
  // Enrolled nodes, joined connections, and diallers whose peer has not come yet; at the limit a
  // request is refused as `overload`.
  std::size_t max_nodes = 4096;
  std::size_t max_links = 1024;
  std::size_t max_waiting = 256;
  // Connections that have not proved the key; more are closed at once.
  std::size_t max_handshakes = 256;
  std::chrono::milliseconds handshake_timeout{5000};
  // How long a dialler waits for its peer.
  std::chrono::milliseconds meet_timeout{5000};
  // A link on which nothing moved for so long is ended: live ones have heartbeats.
  std::chrono::milliseconds idle_limit{60'000};
  Heartbeat heartbeat{.interval = std::chrono::milliseconds(1000),
                      .silence = std::chrono::milliseconds(10'000)};
};

// Only grows.
struct RelayCounters {
  std::uint64_t enrolments = 0;
  std::uint64_t replaced = 0;    // enrolments that took the place of an earlier one of the node
  std::uint64_t links = 0;       // joined
  std::uint64_t bytes = 0;       // moved on links that have ended
  std::uint64_t unknown = 0;     // dialled nodes that are not enrolled
  std::uint64_t unanswered = 0;  // dialled nodes that did not come
  std::uint64_t idle = 0;        // links ended for silence
  std::uint64_t overload = 0;    // requests beyond a limit
};

// Every member is called by the reactor's owner. The process ignores SIGPIPE.
class RelayServer final : private Joint::Owner {
 public:
  [[nodiscard]] static Result<std::unique_ptr<RelayServer>> create(Reactor& reactor,
                                                                   RelayServerOptions options);
  ~RelayServer();
  RelayServer(const RelayServer&) = delete;
  RelayServer& operator=(const RelayServer&) = delete;

  // As bound.
  [[nodiscard]] const Address& address() const { return acceptor_->address(); }
  [[nodiscard]] const RelayCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] std::size_t nodes() const noexcept { return nodes_.size(); }
  [[nodiscard]] std::size_t links() const noexcept { return joints_.size(); }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
  // What `godwit relay status` prints.
  [[nodiscard]] std::string status_json() const;

 private:
  // A node that listens here.
  struct Enrolled final : ControlEvents {
    RelayServer* server = nullptr;
    NodeId node;
    Epoch epoch;
    std::unique_ptr<ControlSocket> socket;
    void on_frame(Bytes, std::vector<Fd>&) override { server->dismiss(node); }
    void on_closed(const Error&) override { server->dismiss(node); }
  };
  // A dialler whose peer was called.
  struct Waiting {
    std::unique_ptr<ControlSocket> dialler;
    NodeId target;
    TimerId timer;
  };

  RelayServer(Reactor& reactor, RelayServerOptions options);

  [[nodiscard]] Result<SetupPayload> answer(Established& link);
  [[nodiscard]] Status admit(const Request& request, const Hello& from);
  [[nodiscard]] Status overload(const char* what, std::size_t limit);
  void attach(Established link);
  void enrol(Established link);
  void dismiss(NodeId node);
  [[nodiscard]] Enrolled* find_target(NodeId wanted, NodeId asker);
  void call(Established link, NodeId wanted);
  void nobody_came(const Token& token);
  void join(const Token& token, ControlSocket& answering);
  void joint_ended(Joint& joint) override;
  void sweep();

  Reactor& reactor_;
  const RelayServerOptions options_;
  const Time started_;
  RelayCounters counters_;
  std::unordered_map<NodeId, std::unique_ptr<Enrolled>> nodes_;
  std::map<Token, Waiting> waiting_;
  Pipes pipes_;
  std::unordered_map<Joint*, std::unique_ptr<Joint>> joints_;
  std::uint64_t turn_ = 0;  // among the nodes, for diallers that take any
  TimerId sweep_timer_;
  std::unique_ptr<LinkAcceptor> acceptor_;
};

}  // namespace godwit::fabric::relay
