// The engine's side of one transport: turns its events into the engine's, link by link.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "call/link_state.hpp"
#include "fabric/transport.hpp"

namespace godwit::call {

class Engine;

class Port final : public fabric::TransportEvents {
 public:
  Port(Engine& engine, std::string name) : engine_(engine), name_(std::move(name)) {}

  // Once, before anything else; the transport outlives its last event.
  void bind(fabric::Transport& transport) { transport_ = &transport; }
  [[nodiscard]] fabric::Transport& transport() { return *transport_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  void on_up(LinkId link, const fabric::Hello& peer) override;
  void on_down(LinkId link, const Error& why) override;
  void on_message(LinkId link, fabric::Message& message) override;
  void on_sent(LinkId link, std::uint64_t tag) override;
  void on_descriptors(LinkId link, const wire::Header& header, Bytes body,
                      std::span<fabric::Fd> descriptors) override;

 private:
  friend class Engine;
  LinkState& add(LinkId link);
  [[nodiscard]] LinkState* find(LinkId link);
  void remove(LinkId link);

  Engine& engine_;
  std::string name_;
  fabric::Transport* transport_ = nullptr;
  std::unordered_map<LinkId, std::unique_ptr<LinkState>> links_;
  LinkState* latest_ = nullptr;  // messages come in runs from one link
};

}  // namespace godwit::call
