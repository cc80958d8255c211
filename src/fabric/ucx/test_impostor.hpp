// A peer for tests that knows how to make a link, and keeps no other rule.
#pragma once

#include <optional>

#include "base/fail.hpp"
#include "fabric/ucx/endpoint.hpp"
#include "fabric/ucx/test_peer.hpp"

namespace godwit::fabric::ucx {

// A member of the fleet that has made a link as any other, and then sends what
// it likes.
class Impostor {
 public:
  Impostor(TestPeer& server, const Address& address) : server_(server), address_(address) {
    reactor_ = Reactor::create({.name = "impostor", .offload_threads = 1}).value();
    worker_ = Worker::create({.tls = "tcp", .net = "lo"}).value();
    // What the server says to it is of no interest, but has to go somewhere.
    for (const unsigned id : {UcxTransport::kMessageAm, UcxTransport::kControlAm}) {
      EXPECT_TRUE(worker_->set_handler(
          id,
          [](void*, const void*, std::size_t, void*, std::size_t, const ucp_am_recv_param_t*) {
            return UCS_OK;
          },
          nullptr));
    }
    self_ = {.node = random_node_id(), .epoch = {1}, .blob = {}};
    established_ = connect(self_, "ucx1" + worker_->address()).value();
    endpoint_ = Endpoint::create(
                    *worker_, established_.payload.data.substr(4),
                    [](void*, ucp_ep_h, ucs_status_t) {}, nullptr)
                    .value();
    greeting_.link_token = established_.link_token;
    ucp_request_param_t params{};
    request_ = ucp_am_send_nbx(endpoint_.handle(), UcxTransport::kControlAm, &greeting_,
                               sizeof greeting_, nullptr, 0, &params);
    EXPECT_TRUE(pump([&] { return server_.ups.size() == 1; }));
  }
  ~Impostor() {
    if (UCS_PTR_IS_PTR(request_)) ucp_request_free(request_);
  }
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;

  // A connection as one who says to be `self`, with that payload.
  Result<Established> connect(const Hello& self, const std::string& payload) {
    LinkSetup::Options options;
    options.self = self;
    options.features = {"ucx-unasked", "ucx-lanes"};
    std::optional<Result<Established>> done;
    setups_.push_back(
        LinkSetup::as_client(*reactor_, address_, options, {.data = payload, .fds = {}},
                             [&done](Result<Established> made) { done.emplace(std::move(made)); })
            .value());
    EXPECT_TRUE(pump([&] { return done.has_value(); }));
    if (done && *done) (*done)->socket->set_events(&events_);
    return done ? *std::move(done) : fail(ErrorCode::deadline, "no answer");
  }
  [[nodiscard]] const Hello& self() const { return self_; }
  [[nodiscard]] std::string token() const {
    return std::string(text_of(bytes_of_value(established_.link_token)));
  }

  void announce(const Offer& body, std::string_view first_chunk, std::uint64_t of_stream) {
    const Notice notice{.header = {.id = 1}, .body = body};
    const Bytes part = bytes_of(first_chunk);
    established_.socket->send_chunk(of_stream, {&part, 1}, bytes_of_value(notice));
    EXPECT_TRUE(pump([&] { return !established_.socket->chunk_is_going_out(); }));
  }
  void send_chunk(std::uint64_t stream, std::string_view chunk) {
    const Bytes part = bytes_of(chunk);
    established_.socket->send_chunk(stream, {&part, 1});
  }
  void hang_up() { established_.socket.reset(); }
  bool pump(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition() && std::chrono::steady_clock::now() < deadline) {
      reactor_->run_once();
      if (worker_ != nullptr) worker_->progress();
      server_.reactor->run_once();
    }
    return condition();
  }
  // What the server says of the link in the end.
  Error end_of_link() {
    EXPECT_TRUE(pump([&] { return !server_.downs.empty(); }));
    return server_.downs.empty() ? Error{} : server_.downs.begin()->second;
  }

 private:
  struct Silent final : ControlEvents {
    void on_frame(Bytes, std::vector<Fd>&) override {}
    void on_closed(const Error&) override {}
  };

  TestPeer& server_;
  const Address address_;
  Silent events_;
  Hello self_;
  wire::Header greeting_{.aux = 1};
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Worker> worker_;
  std::vector<std::unique_ptr<LinkSetup>> setups_;
  Established established_;
  Endpoint endpoint_;
  void* request_ = nullptr;
};

}  // namespace godwit::fabric::ucx
