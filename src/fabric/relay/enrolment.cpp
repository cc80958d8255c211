#include "fabric/relay/enrolment.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"

namespace godwit::fabric::relay {

Enrolment::Enrolment(Reactor& reactor, Options options)
    : reactor_(reactor), options_(std::move(options)) {
  dial();
}

Enrolment::~Enrolment() {
  reactor_.cancel(timer_);
}

void Enrolment::dial() {
  auto setup = LinkSetup::as_client(
      reactor_, options_.relay, options_.setup,
      {.data = encode(Request{.what = Request::What::enrol}), .fds = {}},
      [this](Result<Established> established) { settled(std::move(established)); });
  if (!setup) return retry(setup.error().message);
  setup_ = *std::move(setup);
}

void Enrolment::settled(Result<Established> established) {
  setup_.reset();
  if (!established) return retry(established.error().message);
  socket_ = std::move(established->socket);
  socket_->set_events(this);
  socket_->start_heartbeat(options_.heartbeat);
  pause_ = kFirstPause;
  if (!told_.empty()) {
    told_.clear();
    options_.on_notice(
        fmt::format("enrolled again at the relay {}", options_.relay.to_string().substr(4)));
  }
}

// `why` is this function's own: the socket that told it goes. Nodes that lost the same relay come
// back one by one: the clock's low digits differ.
void Enrolment::retry(std::string why) {
  socket_.reset();
  if (told_ != why) {
    told_ = std::move(why);
    options_.on_notice(fmt::format("not enrolled at the relay {}, and trying again: {}",
                                   options_.relay.to_string().substr(4), told_));
  }
  const Time now = reactor_.now();
  const Duration spread = pause_ * (now.ns / 1000 % 512) / 512;
  timer_ = reactor_.post_at(now + pause_ / 2 + spread / 2, [this] { dial(); });
  pause_ = std::min(pause_ * 2, kLongestPause);
}

void Enrolment::on_frame(Bytes frame, std::vector<Fd>&) {
  const auto token = parse_summons(frame);
  if (token) return options_.on_summons(*token);
  retry(token.error().message);
}

void Enrolment::on_closed(const Error& why) {
  retry(why.message);
}

}  // namespace godwit::fabric::relay
