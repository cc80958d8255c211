// A process between two others that passes on what one sends to the other: what a home costs that
// only moves bytes.
#pragma once

#include <sys/types.h>

#include "fabric/fd.hpp"
#include "godwit/error.hpp"

namespace godwit::bench {

// One thread. The process ends with this object, when all has been passed on.
class TcpStop {
 public:
  // What is written to fd() comes out of `onward`, a socket, by way of the loopback device. Errors:
  // io, resource_exhausted.
  [[nodiscard]] static Result<TcpStop> start(int onward);
  TcpStop(TcpStop&& other) noexcept;
  TcpStop& operator=(TcpStop&&) = delete;
  ~TcpStop();

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  TcpStop(pid_t pid, fabric::Fd fd) noexcept : pid_(pid), fd_(std::move(fd)) {}
  pid_t pid_;
  fabric::Fd fd_;
};

}  // namespace godwit::bench
