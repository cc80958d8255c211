#include "fabric/control/acceptor.hpp"

#include <utility>

#include "base/fail.hpp"

namespace godwit::fabric {

LinkAcceptor::LinkAcceptor(Reactor& reactor, Options options, Answer answer, OnLink on_link)
    : reactor_(reactor),
      options_(std::move(options)),
      answer_(std::move(answer)),
      on_link_(std::move(on_link)) {}

LinkAcceptor::~LinkAcceptor() = default;

Result<std::unique_ptr<LinkAcceptor>> LinkAcceptor::listen(Reactor& reactor, const Address& address,
                                                           Options options, Answer answer,
                                                           OnLink on_link) {
  if (options.setup.key == nullptr && !address.is_loopback())
    return fail(ErrorCode::unauthorised,
                "refusing to listen at {} without a fleet key, since other hosts can reach it; "
                "configure a fleet key, or listen at 127.0.0.1 or a Unix socket",
                address.to_string());
  std::unique_ptr<LinkAcceptor> acceptor(
      new LinkAcceptor(reactor, std::move(options), std::move(answer), std::move(on_link)));
  GODWIT_TRY(acceptor->listener_,
             ControlListener::listen(
                 reactor, address, [self = acceptor.get()](std::unique_ptr<ControlSocket> socket) {
                   self->accept(std::move(socket));
                 }));
  return acceptor;
}

void LinkAcceptor::accept(std::unique_ptr<ControlSocket> socket) {
  if (pending_.size() >= options_.max_pending) {
    ++refused_;
    return;
  }
  const std::uint64_t serial = next_serial_++;
  LinkSetup::Options setup = options_.setup;
  if (options_.hello) setup.self = options_.hello();
  pending_.emplace(
      serial, LinkSetup::as_server(
                  reactor_, std::move(socket), std::move(setup),
                  [this](Established& link) { return answer_(link); },
                  [this, serial](Result<Established> link) { settle(serial, std::move(link)); }));
}

void LinkAcceptor::settle(std::uint64_t serial, Result<Established> link) {
  pending_.erase(serial);
  if (!link) {
    ++refused_;
    return;
  }
  on_link_(*std::move(link));
}

}  // namespace godwit::fabric
