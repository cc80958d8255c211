// Messages by ZeroMQ from one process to another, as somebody who knows it sends them: PUSH to
// PULL, large ones without a copy on the sending side, and read where they arrive.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "godwit/error.hpp"

namespace godwit::bench {

// One thread, beside one of ZeroMQ's own that moves the bytes; that inherits the core of whoever
// makes it.
class ZeromqSender {
 public:
  virtual ~ZeromqSender() = default;
  // Where a receiver connects to.
  [[nodiscard]] virtual const std::string& address() const noexcept = 0;
  // Waits while too many messages are on their way. Bytes have to stay as they are until the
  // receiver has them, and outlive this. Errors: deadline (nobody took anything for 30 s), io.
  [[nodiscard]] virtual Status send(std::span<const std::byte> bytes) = 0;
};

// One thread, likewise.
class ZeromqReceiver {
 public:
  virtual ~ZeromqReceiver() = default;
  // The next message, until the one after it; aligned to nothing. Errors: deadline (nothing came
  // for 30 s), io.
  [[nodiscard]] virtual Result<std::span<const std::byte>> receive() = 0;
};

enum class ZeromqWay : std::uint8_t { ipc, tcp };

// Errors of both: not_found (this program was built without libzmq), io.
[[nodiscard]] Result<std::unique_ptr<ZeromqSender>> make_zeromq_sender(ZeromqWay way);
// Connecting goes on when this returns; the sender waits for it.
[[nodiscard]] Result<std::unique_ptr<ZeromqReceiver>> make_zeromq_receiver(
    const std::string& address);

}  // namespace godwit::bench
