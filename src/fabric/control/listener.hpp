// Accepts control sockets at an address.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/task.hpp"
#include "fabric/address.hpp"
#include "fabric/control/socket.hpp"
#include "fabric/fd.hpp"
#include "fabric/reactor.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric {

// Every member is called by the reactor's owner.
class ControlListener final : private FdHandler {
 public:
  // The new socket has no events yet: give it some, or drop it.
  using OnAccept = UniqueFunction<void(std::unique_ptr<ControlSocket>)>;

  // A Unix socket file that a dead process left behind is replaced; one that answers is
  // address_in_use. Also bad_address (path too long, unknown host) and permission.
  [[nodiscard]] static Result<std::unique_ptr<ControlListener>> listen(Reactor& reactor,
                                                                       const Address& address,
                                                                       OnAccept on_accept);
  // Removes the socket file, if it is still ours.
  ~ControlListener() override;
  ControlListener(const ControlListener&) = delete;
  ControlListener& operator=(const ControlListener&) = delete;

  // As bound: with the port the system chose.
  [[nodiscard]] const Address& address() const { return address_; }

 private:
  ControlListener(Reactor& reactor, Address address, OnAccept on_accept);
  [[nodiscard]] Status bind_path();
  [[nodiscard]] Status bind_port();
  void on_fd(std::uint32_t ready) override;
  void pause();

  Reactor& reactor_;
  Address address_;
  OnAccept on_accept_;
  Fd fd_;
  std::uint64_t inode_ = 0;  // of the socket file we made
  TimerId resume_timer_;
};

}  // namespace godwit::fabric
