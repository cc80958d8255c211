// A process of a simulated fleet that shakes hands like any other, and then sends what it likes.
#pragma once

#include "call/sim_fleet.hpp"

namespace godwit::call::sim {

struct RawPeer final : fabric::TransportEvents {
  // Linked with node 0, once `up`.
  explicit RawPeer(SimFleet& fleet) : id(fleet.world().add_process()) {
    transport = fleet.world().transport(id, *this, wire::encode({16, false, "raw", {}}));
    link = transport->connect(fleet.world().address(fleet.node_process(0))).value();
  }
  void on_up(LinkId, const fabric::Hello&) override { up = true; }
  void on_down(LinkId, const Error&) override { up = false; }
  void on_message(LinkId, fabric::Message& message) override {
    ++answers;
    last = message.header();
    text = text_of(message.body());
  }
  void on_sent(LinkId, std::uint64_t) override {}
  void send(const wire::Header& header, Bytes body) {
    static_cast<void>(transport->send(link, header, {&body, 1}, 0));
  }

  ProcessId id;
  std::unique_ptr<fabric::Transport> transport;
  LinkId link;
  bool up = false;
  std::size_t answers = 0;
  wire::Header last;
  std::string text;  // the body of the last one
};

}  // namespace godwit::call::sim
