// A framed, non-blocking stream socket under the reactor: what every link is made over, and whose
// end is the peer's death.
//
// A frame is a 32-bit little-endian word (length in the low 24 bits, number of file descriptors in
// the rest) and that many bytes; a word of zero is a heartbeat. Descriptors travel on Unix sockets
// only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "fabric/address.hpp"
#include "fabric/control/endpoint.hpp"
#include "fabric/fd.hpp"
#include "fabric/reactor.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric {

// Called by the reactor's owner, never from inside a member of ControlSocket. A handler may
// destroy the socket, or point it at other events.
class ControlEvents {
 public:
  virtual ~ControlEvents() = default;
  // `frame` is valid until the handler returns; fds not moved out are closed.
  virtual void on_frame(Bytes frame, std::vector<Fd>& fds) = 0;
  // The peer is gone (end of stream, error, silence) or could not be reached. Once per socket, and
  // last; the socket is closed. ErrorCode::link_lost, unreachable or protocol_violation.
  virtual void on_closed(const Error& why) = 0;
};

// How a silent partition is noticed where the kernel would not tell (tcp).
struct Heartbeat {
  std::chrono::milliseconds interval{500};  // sent when nothing else was
  std::chrono::milliseconds silence{2000};  // heard nothing for so long: the peer is gone
};

// Every member is called by the reactor's owner.
class ControlSocket final : private FdHandler {
 public:
  static constexpr std::size_t kMaxFrameSize = 64 * 1024;
  static constexpr std::size_t kMaxFdsPerFrame = 8;
  // Bytes waiting for a slow peer; one more frame ends the socket (link_lost).
  static constexpr std::size_t kMaxQueuedBytes = 1024 * 1024;

  // Starts connecting to a Unix path (shm) or a host and port (tcp); host names are resolved off
  // the owner's thread. Frames sent meanwhile are queued. Failure arrives as on_closed; an error
  // here means the address itself is unusable (bad_address).
  [[nodiscard]] static Result<std::unique_ptr<ControlSocket>> connect(Reactor& reactor,
                                                                      const Address& address,
                                                                      ControlEvents& events);
  // Takes over a connected stream socket. `peer_name` appears in error messages.
  [[nodiscard]] static Result<std::unique_ptr<ControlSocket>> adopt(Reactor& reactor, Fd socket,
                                                                    std::string peer_name,
                                                                    ControlEvents* events);
  ~ControlSocket() override;
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // Where events go from now on. null: frames and the end wait until somebody listens.
  void set_events(ControlEvents* events);
  // Queues a frame of 1..kMaxFrameSize bytes. The descriptors are duplicated at once and stay the
  // caller's. Failure to deliver arrives as on_closed.
  void send(Bytes frame, std::span<const int> fds = {});
  void start_heartbeat(const Heartbeat& heartbeat);
  // Sends what can be sent without waiting, then closes. on_closed does not follow.
  void close();

  [[nodiscard]] bool is_open() const { return state_ != State::closed; }
  [[nodiscard]] const std::string& peer_name() const { return peer_name_; }

 private:
  enum class State : std::uint8_t { connecting, open, closed };
  struct Outgoing {
    std::string bytes;
    std::size_t sent = 0;
    std::vector<Fd> fds;
  };

  ControlSocket(Reactor& reactor, std::string peer_name, ControlEvents* events);

  void on_fd(std::uint32_t ready) override;
  // Connecting.
  void resolve(const Address& address);
  void try_next_address();
  [[nodiscard]] int begin_connect(const SocketAddress& address);
  void finish_connect();
  void opened();
  // Sending.
  void enqueue(Outgoing outgoing);
  void flush();
  [[nodiscard]] int write_some(Outgoing& outgoing);
  void want_writable(bool wanted);
  // Receiving.
  void read_some();
  [[nodiscard]] int receive_bytes(std::size_t& received);
  void deliver_frames();
  [[nodiscard]] bool deliver_frame();
  void beat();
  // The end: noticed anywhere, reported from the reactor.
  void end(Error why);
  void report_later();
  void report();
  void release_fd();

  Reactor& reactor_;
  std::string peer_name_;
  ControlEvents* events_;
  Fd fd_;
  State state_ = State::connecting;
  bool want_writable_ = false;
  bool end_pending_ = false;  // end_reason_ is yet to be reported
  bool is_unix_ = false;
  Error end_reason_;
  std::vector<SocketAddress> addresses_;  // yet to be tried, last first
  std::deque<Outgoing> outgoing_;
  std::size_t queued_bytes_ = 0;
  std::vector<std::byte> input_;
  std::size_t input_size_ = 0;
  std::vector<Fd> input_fds_;
  Heartbeat heartbeat_;
  TimerId beat_timer_;
  Time last_heard_;
  Time last_sent_;
  // False once the socket is destroyed: a handler may do that while its frames are delivered, and
  // tasks posted for it may come later.
  std::shared_ptr<bool> alive_;
};

}  // namespace godwit::fabric
