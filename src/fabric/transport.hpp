// The contract between a way of moving bytes (shm, ucx, relay, sim) and the protocol above it.
//
// Within the life of one link every message arrives intact and at most once, in any order, or the
// link goes down and an unknown set of the messages not yet delivered is lost. A link that is down
// stays down: a new connection is a new LinkId. Going down is reported exactly once.
//
// Threads: a transport has one owning thread at a time (see Reactor). Every member is called by the
// owner; every event is delivered from inside poll(), or by the reactor on the transport's behalf,
// never from inside send(), connect() or close(). Event handlers may call send(), connect() and
// close(), but not poll().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "fabric/address.hpp"
#include "fabric/fd.hpp"
#include "godwit/error.hpp"
#include "wire/header.hpp"

namespace godwit::fabric {

// What two processes tell each other while a link is made. `blob` belongs to the layers above:
// the transport carries it and looks at none of it.
struct Hello {
  NodeId node;  // for a client: a random id of its own
  Epoch epoch;
  std::string blob;
};

// A message as it arrives. Header and body are valid until the handler returns.
class Message {
 public:
  // `owned` is empty when the body lies in memory of the transport (a ring slot).
  Message(const wire::Header& header, Bytes body, Buffer* owned) noexcept
      : header_(header), body_(body), owned_(owned) {}
  // A message whose body was too large to accept: the header is intact, the body was discarded.
  struct Discarded {};
  Message(const wire::Header& header, Discarded) noexcept : header_(header), discarded_(true) {}

  [[nodiscard]] const wire::Header& header() const noexcept { return header_; }
  [[nodiscard]] Bytes body() const noexcept { return body_; }
  [[nodiscard]] bool body_discarded() const noexcept { return discarded_; }
  // Makes the body outlive the handler: moves memory the message owns, copies memory it does not.
  [[nodiscard]] Buffer take_body() noexcept {
    if (owned_ != nullptr && !owned_->empty()) return std::move(*owned_);
    return Buffer::copy_of(body_);
  }

 private:
  wire::Header header_;
  Bytes body_;
  Buffer* owned_ = nullptr;
  bool discarded_ = false;
};

// Of a message that carries open descriptors.
inline constexpr std::size_t kMaxDescriptors = 8;
inline constexpr std::size_t kMaxDescriptorBody = 16 * 1024;

class TransportEvents {
 public:
  virtual ~TransportEvents() = default;
  // The link works. For a link this process asked for, `link` is what connect() returned.
  virtual void on_up(LinkId link, const Hello& peer) = 0;
  // Also the answer to a connect() that failed. `why` says what to tell a person. Of a link that
  // was up, link_lost: the peer's system has ended it, and its process with it, most likely;
  // unreachable: nothing is heard of the peer, which may well live, behind a relay or a network
  // that is gone.
  virtual void on_down(LinkId link, const Error& why) = 0;
  virtual void on_message(LinkId link, Message& message) = 0;
  // The parts given to a send() that returned `later` are no longer needed.
  virtual void on_sent(LinkId link, std::uint64_t tag) = 0;
  // A message with 1..kMaxDescriptors descriptors, close-on-exec, of whatever kind the peer chose.
  // The body is valid until the handler returns; descriptors not moved out are closed then.
  virtual void on_descriptors(LinkId /*link*/, const wire::Header& /*header*/, Bytes /*body*/,
                              std::span<Fd> /*descriptors*/) {}
};

enum class Sent : std::uint8_t {
  now,    // the parts were copied or written; forget them
  later,  // the parts are borrowed until on_sent(tag), or until on_down of this link
  down,   // the link is not up; nothing was taken
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Accepts links at the address; returns the address as bound (port filled in). Each transport
  // listens at most once.
  [[nodiscard]] virtual Result<Address> listen(const Address& address) = 0;
  // Starts making a link; on_up or on_down follows. An error here means nothing follows.
  [[nodiscard]] virtual Result<LinkId> connect(const Address& address) = 0;

  // Queues one message: header, then the parts one after another as its body. Bodies up to
  // small_limit() are always taken `now`, without allocation while the peer keeps up. Never blocks.
  // A message stays queued while the peer is slow; the layer above bounds how many there are.
  [[nodiscard]] virtual Sent send(LinkId link, const wire::Header& header,
                                  std::span<const Bytes> parts, std::uint64_t tag) = 0;
  [[nodiscard]] virtual std::size_t small_limit() const = 0;

  // Whether its links take a way round: used where there is no other to the same peer.
  [[nodiscard]] virtual bool is_detour() const { return false; }
  // Whether the transport can hand open descriptors to its peers: they are on this host.
  [[nodiscard]] virtual bool carries_descriptors() const { return false; }
  // Sends a message with 1..kMaxDescriptors open descriptors, duplicated at once, and a body of at
  // most kMaxDescriptorBody; it takes system calls and a copy. Never blocks. Errors: unsupported,
  // invalid_argument, link_lost (the link is not up), overload (the peer has not taken the ones
  // before), resource_exhausted; after any of them nothing was sent and the link is as it was.
  [[nodiscard]] virtual Status send_descriptors(LinkId /*link*/, const wire::Header& /*header*/,
                                                Bytes /*body*/,
                                                std::span<const int> /*descriptors*/) {
    return tl::unexpected(
        Error{ErrorCode::unsupported, "descriptors travel between processes of one host only"});
  }

  // Ends the link after what was sent so far, as far as the peer takes it within a moment.
  // on_down follows, with ErrorCode::none.
  virtual void close(LinkId link) = 0;

  // Moves bytes and delivers events; returns how many events it delivered or bytes' worth of work
  // it did (0: idle). Handles at most `budget` messages, so that no link starves the others.
  virtual std::size_t poll(std::size_t budget) = 0;

  // Before the owner sleeps: returns false if there is work now; otherwise from here on new work
  // makes wake_fd() readable, until the next poll(). -1 if the transport needs no fd (sim).
  [[nodiscard]] virtual bool prepare_to_sleep() = 0;
  [[nodiscard]] virtual int wake_fd() const = 0;
};

}  // namespace godwit::fabric
