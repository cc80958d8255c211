// Two connections joined: what comes in at one goes out at the other, until both have ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "base/scheduler.hpp"
#include "fabric/fd.hpp"
#include "fabric/reactor.hpp"
#include "fabric/relay/pipes.hpp"

namespace godwit::fabric::relay {

// Every member is called by the reactor's owner. While the receiver of a direction is slow nothing
// more is read for it: its sender waits in tcp.
class Joint {
 public:
  // What was read of a connection before is at most this, and goes first.
  static constexpr std::size_t kMaxEarlyBytes = std::size_t{16} << 10;

  struct Connection {
    Fd socket;
    Bytes early;
  };
  class Owner {
   public:
    // May destroy the joint.
    virtual void joint_ended(Joint& joint) = 0;

   protected:
    ~Owner() = default;
  };

  Joint(Reactor& reactor, Pipes& pipes, Owner& owner) noexcept
      : reactor_(reactor), pipes_(pipes), owner_(owner) {}
  ~Joint();
  Joint(const Joint&) = delete;
  Joint& operator=(const Joint&) = delete;

  // Once. Errors: resource_exhausted, protocol_violation (too much was said early).
  [[nodiscard]] Status start(Connection a, Connection b);

  [[nodiscard]] std::uint64_t moved_bytes() const noexcept { return moved_bytes_; }
  [[nodiscard]] Time last_moved() const noexcept { return last_moved_; }

 private:
  struct End final : FdHandler {
    Joint* joint = nullptr;
    std::size_t index = 0;
    Fd socket;
    std::uint32_t watched = 0;
    bool is_watched = false;
    void on_fd(std::uint32_t ready) override { joint->on_ready(index, ready); }
  };
  // From ends_[i] to the other.
  struct Direction {
    std::optional<Pipe> pipe;  // with bytes that the receiver does not take now
    bool blocked = false;      // by the receiver
    bool drained = false;      // the sender said its last
    bool done = false;         // and the receiver knows
  };
  enum class Step : std::uint8_t { moved, waits, failed };

  void on_ready(std::size_t index, std::uint32_t ready);
  [[nodiscard]] bool pump(std::size_t from);
  [[nodiscard]] Step fill(std::size_t from, Pipe& pipe);
  [[nodiscard]] Step empty(std::size_t from, Pipe& pipe);
  [[nodiscard]] bool update_watches();

  Reactor& reactor_;
  Pipes& pipes_;
  Owner& owner_;
  std::array<End, 2> ends_;
  std::array<Direction, 2> directions_;
  std::uint64_t moved_bytes_ = 0;
  Time last_moved_;
};

}  // namespace godwit::fabric::relay
