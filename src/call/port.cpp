#include "call/port.hpp"

#include "call/engine.hpp"

namespace godwit::call {

void Port::on_up(LinkId link, const fabric::Hello& peer) {
  engine_.on_up(*this, link, peer);
}

void Port::on_down(LinkId link, const Error& why) {
  engine_.on_down(*this, link, why);
}

void Port::on_message(LinkId link, fabric::Message& message) {
  LinkState* state = find(link);
  if (state != nullptr) engine_.on_message(*state, message);
}

void Port::on_sent(LinkId /*link*/, std::uint64_t tag) {
  engine_.on_sent(tag);
}

void Port::on_descriptors(LinkId link, const wire::Header& header, Bytes body,
                          std::span<fabric::Fd> descriptors) {
  LinkState* state = find(link);
  if (state != nullptr) engine_.on_descriptors(*state, header, body, descriptors);
}

LinkState& Port::add(LinkId link) {
  auto& state = links_[link];
  if (state == nullptr) {
    state = std::make_unique<LinkState>();
    state->port = this;
    state->id = link;
  }
  return *state;
}

LinkState* Port::find(LinkId link) {
  if (latest_ != nullptr && latest_->id == link) return latest_;
  const auto it = links_.find(link);
  if (it == links_.end()) return nullptr;
  latest_ = it->second.get();
  return latest_;
}

void Port::remove(LinkId link) {
  if (latest_ != nullptr && latest_->id == link) latest_ = nullptr;
  links_.erase(link);
}

}  // namespace godwit::call
