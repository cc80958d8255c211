// A process between two others that passes on what one sends to the other: what a home costs that
// only moves bytes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "fabric/fd.hpp"
#include "godwit/error.hpp"

namespace godwit::bench {

// A child that ends by itself when nobody is left to send anything to it.
class Passer {
 public:
  explicit Passer(pid_t pid) noexcept : pid_(pid) {}
  Passer(Passer&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Passer& operator=(Passer&&) = delete;
  ~Passer();

 private:
  pid_t pid_;
};

// One thread. The process ends with this object, when all has been passed on.
class Stop {
 public:
  // What is written to fd() comes out of `onward`: of a socket by way of the loopback device, or of
  // a pipe by way of that core. Errors: io, resource_exhausted.
  [[nodiscard]] static Result<Stop> by_tcp(int onward);
  [[nodiscard]] static Result<Stop> by_pipe(int onward, int core);

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  Stop(pid_t pid, fabric::Fd fd) noexcept : passer_(pid), fd_(std::move(fd)) {}
  Passer passer_;
  fabric::Fd fd_;  // closed first
};

// The same, for a process that keeps what it passes on: items are copied into memory that both
// have, as much of it as a topic has, and sent from there.
class KeepingStop {
 public:
  static constexpr std::size_t kKept = std::size_t{64} << 20;

  // For items of `size` bytes. Errors: io, resource_exhausted.
  [[nodiscard]] static Result<KeepingStop> start(int onward, std::size_t size);
  KeepingStop(KeepingStop&& other) noexcept;
  KeepingStop& operator=(KeepingStop&&) = delete;
  ~KeepingStop();

  // Waits while there is no room. Errors: io.
  [[nodiscard]] Status send(std::span<const std::byte> item);

 private:
  KeepingStop(pid_t pid, std::byte* memory, std::size_t size, std::uint32_t slots) noexcept
      : passer_(pid), memory_(memory), size_(size), free_(slots), slots_(slots) {}

  Passer passer_;
  std::byte* memory_;
  fabric::Fd notices_;  // one byte for each item that lies there
  fabric::Fd returns_;  // one for each that has been sent
  std::size_t size_;    // of an item
  std::uint32_t free_;
  std::uint32_t slots_;
  std::uint32_t next_ = 0;
};

}  // namespace godwit::bench
