// Open descriptors between processes of one host. They count as messages, so that a link is not
// ended under them (farewell.cpp).
#include "base/fail.hpp"
#include "call/engine.hpp"

namespace godwit::call {

Status Engine::send_descriptors(NodeId to, const wire::Header& header, Bytes body,
                                std::span<const int> descriptors) {
  LinkState* link = link_for_descriptors(to);
  if (link == nullptr)
    return fail(ErrorCode::unreachable,
                "no link of this host leads to node {}: descriptors cannot be handed to it",
                to_hex(to.value));
  GODWIT_CHECK(link->port->transport().send_descriptors(link->id, header, body, descriptors));
  ++link->traffic.sent;
  if (link->leaving) farewell(*link);
  return {};
}

// One that is being left carries answers still; there may be no other, and no way to make one.
LinkState* Engine::link_for_descriptors(NodeId to) const {
  LinkState* left = nullptr;
  for (const auto& port : ports_) {
    if (port->transport_ == nullptr || !port->transport_->carries_descriptors()) continue;
    for (const auto& [id, link] : port->links_) {
      if (!link->up || link->closing || link->peer->id != to) continue;
      if (!link->leaving) return link.get();
      left = link.get();
    }
  }
  return left;
}

void Engine::on_descriptors(LinkState& link, const wire::Header& header, Bytes body,
                            std::span<fabric::Fd> descriptors) {
  ++link.traffic.received;
  observer_.on_descriptors(link.peer->id, header, body, descriptors);
  if (link.leaving) farewell(link);
}

}  // namespace godwit::call
