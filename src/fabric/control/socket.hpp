// A framed, non-blocking stream socket under the reactor: what every link is made over, and whose
// end is the peer's death.
//
// A frame is a 32-bit little-endian word (length in the low 24 bits, number of file descriptors in
// the rest) and that many bytes; a word of zero is a heartbeat. Descriptors travel on Unix sockets
// only. On tcp there are chunks too: a word with kChunkMark in its high byte, the number of a
// stream, and bytes that go from the sender's memory into the receiver's without a stop. A notice,
// a word with kNoticeMark and a few bytes, may go ahead of a stream's first chunk.
#pragma once

#include <array>
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

// Called by the reactor's owner, never from inside a member of ControlSocket other than
// move_chunks() and read_now(). A handler may destroy the socket, or point it at other events,
// except from on_chunk(), on_chunk_end() and on_notice().
class ControlEvents {
 public:
  virtual ~ControlEvents() = default;
  // `frame` is valid until the handler returns; fds not moved out are closed.
  virtual void on_frame(Bytes frame, std::vector<Fd>& fds) = 0;
  // A chunk of the stream begins: where its `size` bytes go, until on_chunk_end() or the socket is
  // destroyed. Room of another size ends the socket (protocol_violation).
  virtual MutableBytes on_chunk(std::uint64_t /*stream*/, std::size_t /*size*/) { return {}; }
  virtual void on_chunk_end(std::uint64_t /*stream*/) {}
  // What the sender says of a stream whose first chunk follows. An error ends the socket.
  virtual Status on_notice(Bytes /*notice*/) {
    return tl::unexpected(Error{ErrorCode::protocol_violation, "nobody takes bodies here"});
  }
  // The peer is gone (end of stream, error, silence) or could not be reached. Once per socket, and
  // last; the socket is closed. ErrorCode::link_lost, unreachable (also of one that is
  // silent, or reads nothing) or protocol_violation.
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
  static constexpr std::size_t kMaxChunkSize = 1024 * 1024;
  static constexpr std::size_t kMaxChunkParts = 16;
  static constexpr std::uint8_t kChunkMark = 0xFF;
  static constexpr std::size_t kMaxNoticeSize = 64;
  static constexpr std::uint8_t kNoticeMark = 0xFE;

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
  void send_owned(Bytes frame, std::vector<Fd> fds);
  // Frames that the peer's slowness keeps here.
  [[nodiscard]] bool has_queued_frames() const { return !outgoing_.empty(); }
  // What the peer has not read yet of those that left, in memory of the system. A system call.
  [[nodiscard]] std::size_t unread_bytes() const;
  // Reads and delivers what has arrived by now, up to a limit. Handlers run inside, and may destroy
  // the socket.
  void read_now();
  // Sends the parts, 1..kMaxChunkSize bytes in at most kMaxChunkParts, as a chunk of the stream.
  // One at a time: they are read until chunk_is_going_out() is false again. A notice of at most
  // kMaxNoticeSize goes ahead of it, with the same system call.
  void send_chunk(std::uint64_t stream, std::span<const Bytes> parts, Bytes notice = {});
  [[nodiscard]] bool chunk_is_going_out() const { return chunk_out_.left != 0; }
  // Writes what can be written at once of a chunk, and reads if the owner expects one, for an owner
  // that would rather not wait for epoll. Handlers run inside, and may destroy the socket. False:
  // there was nothing to move.
  bool move_chunks(bool reads);
  void start_heartbeat(const Heartbeat& heartbeat);
  // The connection itself, and what was read of it beyond the frames delivered; all that was sent
  // has left. Nothing follows, and this object is closed. No connection: it had ended already, or
  // frames are still queued.
  struct Released {
    Fd fd;
    std::vector<std::byte> input;
  };
  [[nodiscard]] Released release();
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
  static constexpr std::size_t kWordSize = 4;
  static constexpr std::size_t kChunkHeaderSize = kWordSize + sizeof(std::uint64_t);
  struct ChunkOut {
    std::array<std::byte, kWordSize + kMaxNoticeSize + kChunkHeaderSize> header;
    std::array<Bytes, kMaxChunkParts + 1> pieces;  // what is left of the header and the parts
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t left = 0;  // bytes; 0: no chunk
    bool begun = false;
  };
  struct ChunkIn {
    MutableBytes room;  // that is left
    std::uint64_t stream = 0;
    bool active = false;
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
  [[nodiscard]] int write_chunk();
  void want_writable(bool wanted);
  // Receiving.
  bool read_some();
  [[nodiscard]] int receive_bytes(std::size_t& received);
  void deliver_frames();
  [[nodiscard]] bool deliver_frame();
  [[nodiscard]] int receive_chunk(std::size_t& received);
  [[nodiscard]] bool begin_chunk(std::size_t size);
  [[nodiscard]] bool take_notice(std::size_t size);
  void take_chunk_bytes(std::size_t count);
  void drop_input(std::size_t count);
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
  ChunkOut chunk_out_;
  ChunkIn chunk_in_;
  Heartbeat heartbeat_;
  TimerId beat_timer_;
  Time last_heard_;
  Time last_sent_;
  // False once the socket is destroyed: a handler may do that while its frames are delivered, and
  // tasks posted for it may come later.
  std::shared_ptr<bool> alive_;
};

}  // namespace godwit::fabric
