// Handing the connection on to somebody who does not speak in frames.
#include <utility>

#include "fabric/control/socket.hpp"

namespace godwit::fabric {

ControlSocket::Released ControlSocket::release() {
  Released released;
  if (state_ == State::open && outgoing_.empty() && !chunk_is_going_out() && !chunk_in_.active) {
    reactor_.unwatch(fd_.get());
    released.fd = std::move(fd_);
    input_.resize(input_size_);
    released.input = std::move(input_);
  }
  close();
  return released;
}

}  // namespace godwit::fabric
