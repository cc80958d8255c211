// Moving whole values through pipes and sockets, spinning or sleeping.
#pragma once

#include <cstddef>
#include <type_traits>

#include "floors/options.hpp"
#include "godwit/error.hpp"

namespace godwit::bench {

using floors::Waiting;

// Errors: io (the other side is gone).
[[nodiscard]] Status send_bytes(int fd, const void* data, std::size_t size);
// `fd` is a socket or a pipe. Spinning gives the core away between looks: there are more sides than
// cores. Errors: io; deadline (nothing came for 30 s).
[[nodiscard]] Status receive_bytes(int fd, void* data, std::size_t size, Waiting waiting);

template <class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] Status send_value(int fd, const T& value) {
  return send_bytes(fd, &value, sizeof value);
}
template <class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] Status receive_value(int fd, T& value, Waiting waiting) {
  return receive_bytes(fd, &value, sizeof value, waiting);
}

// Peak of a process's memory, and that without what it shares; 0 where the system does not say.
struct MemoryUse {
  std::uint64_t peak_bytes = 0;
  std::uint64_t own_bytes = 0;     // now, anonymous
  std::uint64_t shared_bytes = 0;  // now
};
[[nodiscard]] MemoryUse memory_of(int pid);

}  // namespace godwit::bench
