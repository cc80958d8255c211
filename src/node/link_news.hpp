// Passes a transport's events on, and tells of links that come up.
#pragma once

#include <functional>
#include <span>
#include <utility>

#include "fabric/transport.hpp"

namespace godwit::node {

class LinkNews final : public fabric::TransportEvents {
 public:
  // `to` outlives this; `on_up` is called after it has heard.
  LinkNews(fabric::TransportEvents& to, std::function<void(NodeId peer)> on_up)
      : to_(to), on_up_(std::move(on_up)) {}

  void on_up(LinkId link, const fabric::Hello& peer) override {
    is_telling_ = true;
    to_.on_up(link, peer);
    is_telling_ = false;
    on_up_(peer.node);
  }
  // Inside on_up(): the link that others hear of is this transport's.
  [[nodiscard]] bool is_telling() const noexcept { return is_telling_; }
  void on_down(LinkId link, const Error& why) override { to_.on_down(link, why); }
  void on_message(LinkId link, fabric::Message& message) override { to_.on_message(link, message); }
  void on_sent(LinkId link, std::uint64_t tag) override { to_.on_sent(link, tag); }
  void on_descriptors(LinkId link, const wire::Header& header, Bytes body,
                      std::span<fabric::Fd> descriptors) override {
    to_.on_descriptors(link, header, body, descriptors);
  }

 private:
  fabric::TransportEvents& to_;
  std::function<void(NodeId)> on_up_;
  bool is_telling_ = false;
};

}  // namespace godwit::node
