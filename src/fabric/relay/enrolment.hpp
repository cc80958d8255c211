// A node's standing with a relay: one connection on which it hears that somebody wants to talk to
// it, dialled again, with growing pauses, for as long as the node lives.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "fabric/control/link_setup.hpp"
#include "fabric/relay/request.hpp"

namespace godwit::fabric::relay {

// Every member is called by the reactor's owner.
class Enrolment final : private ControlEvents {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{250};
  static constexpr std::chrono::milliseconds kLongestPause{4000};

  struct Options {
    Address relay;               // tcp
    LinkSetup::Options setup{};  // the key is the relay's
    Heartbeat heartbeat{};
    std::function<void(const Token&)> on_summons{};
    // Something an operator should know, once per change.
    std::function<void(const std::string&)> on_notice{};
  };
  Enrolment(Reactor& reactor, Options options);
  ~Enrolment() override;
  Enrolment(const Enrolment&) = delete;
  Enrolment& operator=(const Enrolment&) = delete;

  [[nodiscard]] bool is_enrolled() const noexcept { return socket_ != nullptr; }

 private:
  void dial();
  void settled(Result<Established> established);
  void retry(std::string why);
  void on_frame(Bytes frame, std::vector<Fd>& fds) override;
  void on_closed(const Error& why) override;

  Reactor& reactor_;
  Options options_;
  std::unique_ptr<LinkSetup> setup_;
  std::unique_ptr<ControlSocket> socket_;  // set: enrolled
  std::chrono::milliseconds pause_ = kFirstPause;
  TimerId timer_;
  std::string told_;
};

}  // namespace godwit::fabric::relay
