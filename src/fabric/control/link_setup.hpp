// Makes a link over a control socket: proves the fleet key, exchanges hellos, and carries one
// opaque payload of the transport each way. The order and the bytes are in docs/protocol.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "fabric/address.hpp"
#include "fabric/control/socket.hpp"
#include "fabric/fd.hpp"
#include "fabric/reactor.hpp"
#include "fabric/transport.hpp"
#include "godwit/error.hpp"
#include "trust/fleet_key.hpp"
#include "trust/handshake.hpp"

namespace godwit::fabric {

// What a transport sends along: shm its rings, ucx its worker's address. At most
// ControlSocket::kMaxFdsPerFrame descriptors, and with the hello at most ~60 KiB.
struct SetupPayload {
  std::string data;
  std::vector<Fd> fds;
};

// A link as set-up leaves it.
struct Established {
  Hello peer;
  SetupPayload payload;  // the peer's
  // The same at both ends, different for every link, unguessable without the fleet key; not zero.
  std::uint64_t link_token = 0;
  std::vector<std::string> features;  // that both ends have
  // Open, without events: give it some at once; its end is the peer's death.
  std::unique_ptr<ControlSocket> socket;
  // Whatever LinkSetup::Answer left here.
  std::shared_ptr<void> context;
};

// Every member is called by the reactor's owner. Destroying a set-up abandons it silently.
class LinkSetup final : private ControlEvents {
 public:
  struct Options {
    Hello self{};
    const trust::FleetKey* key = nullptr;  // outlives the set-up; null: an open fleet on one host
    std::vector<std::string> features{};
    std::chrono::milliseconds timeout{5000};
  };
  // Called once, from the reactor, never from inside a member of LinkSetup; may destroy the
  // set-up. Errors: unreachable, handshake_failed, unauthorised, version_mismatch, bad_format.
  using Done = UniqueFunction<void(Result<Established>)>;
  // The server's own payload, made once the client has proved itself: `link` has everything but
  // the socket. An error refuses the client and is told to it.
  using Answer = UniqueFunction<Result<SetupPayload>(Established& link)>;

  [[nodiscard]] static Result<std::unique_ptr<LinkSetup>> as_client(Reactor& reactor,
                                                                    const Address& to,
                                                                    Options options,
                                                                    SetupPayload mine, Done done);
  // The same over a connection that is there.
  [[nodiscard]] static std::unique_ptr<LinkSetup> as_client(Reactor& reactor,
                                                            std::unique_ptr<ControlSocket> socket,
                                                            Options options, SetupPayload mine,
                                                            Done done);
  [[nodiscard]] static std::unique_ptr<LinkSetup> as_server(Reactor& reactor,
                                                            std::unique_ptr<ControlSocket> socket,
                                                            Options options, Answer answer,
                                                            Done done);
  ~LinkSetup() override;

 private:
  LinkSetup(Reactor& reactor, trust::Handshake handshake, Options options, Done done);

  [[nodiscard]] static std::unique_ptr<LinkSetup> make_client(Reactor& reactor, Options options,
                                                              SetupPayload mine, Done done);
  void on_frame(Bytes frame, std::vector<Fd>& fds) override;
  void on_closed(const Error& why) override;
  void begin();
  void arm_timeout();
  [[nodiscard]] Status advance(Bytes frame, std::vector<Fd>& fds);
  [[nodiscard]] Status take_peer(std::string_view peer_hello, std::vector<Fd>& fds);
  [[nodiscard]] Status answer_client();
  void fail_with(const Error& why);
  void finish();

  Reactor& reactor_;
  trust::Handshake handshake_;
  Options options_;
  Answer answer_;  // server only
  Done done_;
  SetupPayload mine_;  // client only
  Established link_;
  std::unique_ptr<ControlSocket> socket_;
  TimerId timeout_timer_;
};

}  // namespace godwit::fabric
