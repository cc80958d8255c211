// A listener whose clients become links: the server half of every transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "base/task.hpp"
#include "fabric/control/link_setup.hpp"
#include "fabric/control/listener.hpp"

namespace godwit::fabric {

// Every member is called by the reactor's owner.
class LinkAcceptor {
 public:
  struct Options {
    // Hello, key, timeout for each link.
    LinkSetup::Options setup{};
    // If set, asked for the hello of each link instead of setup.self.
    std::function<Hello()> hello{};
    // Handshakes under way; more are refused by closing them, so that half-open connections
    // cannot pile up.
    std::size_t max_pending = 64;
  };
  using Answer = UniqueFunction<Result<SetupPayload>(Established& link)>;
  using OnLink = UniqueFunction<void(Established link)>;

  // Without a fleet key only addresses of this host are allowed (unauthorised says so).
  [[nodiscard]] static Result<std::unique_ptr<LinkAcceptor>> listen(Reactor& reactor,
                                                                    const Address& address,
                                                                    Options options, Answer answer,
                                                                    OnLink on_link);
  ~LinkAcceptor();
  LinkAcceptor(const LinkAcceptor&) = delete;
  LinkAcceptor& operator=(const LinkAcceptor&) = delete;

  [[nodiscard]] const Address& address() const { return listener_->address(); }
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }
  // Clients turned away: too many pending, or a handshake that failed.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  LinkAcceptor(Reactor& reactor, Options options, Answer answer, OnLink on_link);
  void accept(std::unique_ptr<ControlSocket> socket);
  void settle(std::uint64_t serial, Result<Established> link);

  Reactor& reactor_;
  Options options_;
  Answer answer_;
  OnLink on_link_;
  std::unordered_map<std::uint64_t, std::unique_ptr<LinkSetup>> pending_;
  std::uint64_t next_serial_ = 1;
  std::uint64_t refused_ = 0;
  std::unique_ptr<ControlListener> listener_;
};

}  // namespace godwit::fabric
