// File descriptors beside bytes (SCM_RIGHTS).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "fabric/fd.hpp"

namespace godwit::fabric {

[[nodiscard]] bool is_unix_socket(int fd);

// Both return an errno value, 0 for success, and never block. EINTR is handled inside.
// The descriptors go with the first byte.
[[nodiscard]] int send_with_fds(int socket, Bytes bytes, std::span<const Fd> fds,
                                std::size_t& sent);
// Descriptors that arrive are appended, close-on-exec; received = 0: the peer closed.
[[nodiscard]] int receive_with_fds(int socket, MutableBytes room, std::vector<Fd>& fds,
                                   std::size_t& received);

}  // namespace godwit::fabric
