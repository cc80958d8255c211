#include "fabric/control/link_setup.hpp"

#include <cstring>
#include <utility>

#include "base/fail.hpp"

namespace godwit::fabric {
namespace {

// node, epoch, size of the blob; then blob and payload.
constexpr std::size_t kFixedSize = 8 + 8 + 4;

std::string encode(const Hello& hello, std::string_view payload) {
  std::string bytes(kFixedSize, '\0');
  const auto blob_size = static_cast<std::uint32_t>(hello.blob.size());
  std::memcpy(bytes.data(), &hello.node.value, 8);
  std::memcpy(bytes.data() + 8, &hello.epoch.value, 8);
  std::memcpy(bytes.data() + 16, &blob_size, 4);
  return bytes.append(hello.blob).append(payload);
}

Status decode(std::string_view bytes, Hello& hello, std::string& payload) {
  std::uint32_t blob_size = 0;
  if (bytes.size() < kFixedSize)
    return fail(ErrorCode::handshake_failed, "the peer's hello is malformed");
  std::memcpy(&hello.node.value, bytes.data(), 8);
  std::memcpy(&hello.epoch.value, bytes.data() + 8, 8);
  std::memcpy(&blob_size, bytes.data() + 16, 4);
  bytes.remove_prefix(kFixedSize);
  if (blob_size > bytes.size())
    return fail(ErrorCode::handshake_failed, "the peer's hello is malformed");
  hello.blob = bytes.substr(0, blob_size);
  payload = bytes.substr(blob_size);
  return {};
}

std::vector<int> numbers_of(const std::vector<Fd>& fds) {
  std::vector<int> numbers;
  for (const Fd& fd : fds) numbers.push_back(fd.get());
  return numbers;
}

trust::Handshake::Options handshake_options(const LinkSetup::Options& options) {
  trust::Handshake::Options handshake;
  handshake.key = options.key;
  handshake.features = options.features;
  return handshake;
}

}  // namespace

LinkSetup::LinkSetup(Reactor& reactor, trust::Handshake handshake, Options options, Done done)
    : reactor_(reactor),
      handshake_(std::move(handshake)),
      options_(std::move(options)),
      done_(std::move(done)) {}

LinkSetup::~LinkSetup() {
  reactor_.cancel(timeout_timer_);
}

std::unique_ptr<LinkSetup> LinkSetup::make_client(Reactor& reactor, Options options,
                                                  SetupPayload mine, Done done) {
  auto handshake =
      trust::Handshake::as_client(handshake_options(options), encode(options.self, mine.data));
  std::unique_ptr<LinkSetup> setup(
      new LinkSetup(reactor, std::move(handshake), std::move(options), std::move(done)));
  setup->mine_ = std::move(mine);
  return setup;
}

Result<std::unique_ptr<LinkSetup>> LinkSetup::as_client(Reactor& reactor, const Address& to,
                                                        Options options, SetupPayload mine,
                                                        Done done) {
  auto setup = make_client(reactor, std::move(options), std::move(mine), std::move(done));
  GODWIT_TRY(setup->socket_, ControlSocket::connect(reactor, to, *setup));
  setup->begin();
  return setup;
}

std::unique_ptr<LinkSetup> LinkSetup::as_client(Reactor& reactor,
                                                std::unique_ptr<ControlSocket> socket,
                                                Options options, SetupPayload mine, Done done) {
  auto setup = make_client(reactor, std::move(options), std::move(mine), std::move(done));
  setup->socket_ = std::move(socket);
  setup->socket_->set_events(setup.get());
  setup->begin();
  return setup;
}

void LinkSetup::begin() {
  arm_timeout();
  socket_->send(bytes_of(handshake_.offer()));
}

std::unique_ptr<LinkSetup> LinkSetup::as_server(Reactor& reactor,
                                                std::unique_ptr<ControlSocket> socket,
                                                Options options, Answer answer, Done done) {
  auto handshake = trust::Handshake::as_server(handshake_options(options));
  std::unique_ptr<LinkSetup> setup(
      new LinkSetup(reactor, std::move(handshake), std::move(options), std::move(done)));
  setup->answer_ = std::move(answer);
  setup->socket_ = std::move(socket);
  setup->socket_->set_events(setup.get());
  setup->arm_timeout();
  return setup;
}

void LinkSetup::arm_timeout() {
  timeout_timer_ = reactor_.post_at(reactor_.now() + options_.timeout, [this] {
    fail_with({ErrorCode::handshake_failed,
               fmt::format("no link with {}: the handshake did not end within {} ms",
                           socket_->peer_name(), options_.timeout.count())});
  });
}

void LinkSetup::on_frame(Bytes frame, std::vector<Fd>& fds) {
  auto status = advance(frame, fds);
  if (status) return;
  Error error = std::move(status).error();
  // A server tells its client why; it says nothing else about itself.
  if (answer_) socket_->send(bytes_of(trust::Handshake::error_frame(error)));
  error.message = fmt::format("no link with {}: {}", socket_->peer_name(), error.message);
  fail_with(error);
}

// May end in done_, which may destroy this set-up: nothing is touched after finish().
Status LinkSetup::advance(Bytes frame, std::vector<Fd>& fds) {
  GODWIT_TRY(trust::Handshake::Step step, handshake_.receive(frame));
  switch (step.next) {
    case trust::Handshake::Next::send:
      // The client's descriptors go with its proof, the frame that answers the challenge.
      socket_->send(bytes_of(step.frame), numbers_of(mine_.fds));
      mine_.fds.clear();
      return {};
    case trust::Handshake::Next::answer:
      GODWIT_CHECK(take_peer(handshake_.peer_hello(), fds));
      GODWIT_CHECK(answer_client());
      break;
    case trust::Handshake::Next::complete:
      GODWIT_CHECK(take_peer(handshake_.peer_hello(), fds));
      break;
  }
  finish();
  return {};
}

Status LinkSetup::take_peer(std::string_view peer_hello, std::vector<Fd>& fds) {
  GODWIT_CHECK(decode(peer_hello, link_.peer, link_.payload.data));
  link_.payload.fds = std::move(fds);
  link_.link_token = handshake_.link_token();
  link_.features = handshake_.features();
  return {};
}

Status LinkSetup::answer_client() {
  GODWIT_TRY(const SetupPayload mine, answer_(link_));
  GODWIT_TRY(const std::string frame, handshake_.answer(encode(options_.self, mine.data)));
  socket_->send(bytes_of(frame), numbers_of(mine.fds));
  return {};
}

void LinkSetup::on_closed(const Error& why) {
  fail_with({why.code == ErrorCode::link_lost ? ErrorCode::handshake_failed : why.code,
             fmt::format("no link: {}", why.message)});
}

void LinkSetup::fail_with(const Error& why) {
  reactor_.cancel(timeout_timer_);
  socket_->set_events(nullptr);
  socket_->close();
  Done done = std::move(done_);
  done(tl::unexpected(why));
}

void LinkSetup::finish() {
  reactor_.cancel(timeout_timer_);
  socket_->set_events(nullptr);
  link_.socket = std::move(socket_);
  Done done = std::move(done_);
  done(std::move(link_));
}

}  // namespace godwit::fabric
