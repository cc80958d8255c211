// What strangers can do who reach UCX's ports without being a link.
#include <gtest/gtest.h>

#include "fabric/ucx/endpoint.hpp"
#include "fabric/ucx/test_peer.hpp"

namespace godwit::fabric::ucx {
namespace {

// Sends active messages to a peer's worker without any handshake.
class Stranger {
 public:
  explicit Stranger(const std::string& worker_address) {
    auto worker = Worker::create({.tls = "tcp", .net = "lo"});
    if (!worker) ADD_FAILURE() << worker.error().message;
    worker_ = std::move(*worker);
    auto endpoint =
        Endpoint::create(*worker_, worker_address, [](void*, ucp_ep_h, ucs_status_t) {}, nullptr);
    if (!endpoint) ADD_FAILURE() << endpoint.error().message;
    endpoint_ = std::move(*endpoint);
  }
  ~Stranger() {
    for (void* request : requests_) ucp_request_free(request);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  // `header` and `body` outlive this object's progress.
  void send(unsigned am_id, Bytes header, std::string_view body) {
    ucp_request_param_t params{};
    void* const request = ucp_am_send_nbx(endpoint_.handle(), am_id, header.data(), header.size(),
                                          body.data(), body.size(), &params);
    ASSERT_FALSE(UCS_PTR_IS_ERR(request));
    if (UCS_PTR_IS_PTR(request)) requests_.push_back(request);
  }
  void progress() { worker_->progress(); }

 private:
  std::unique_ptr<Worker> worker_;
  Endpoint endpoint_;
  std::vector<void*> requests_;
};

TEST(UcxHostile, ForgedTokensAreDroppedAndCounted) {
  TestPair pair;
  Stranger stranger(pair.server.transport->worker_address());
  const wire::Header forged{.kind = wire::Kind::call, .id = 1, .link_token = 0x1234'5678'9ABC'DEF0};
  const wire::Header no_token{.kind = wire::Kind::call};
  const std::string large = pattern(1 << 20);
  stranger.send(UcxTransport::kMessageAm, bytes_of_value(forged), "boo");
  stranger.send(UcxTransport::kMessageAm, bytes_of_value(no_token), "boo");
  stranger.send(UcxTransport::kMessageAm, bytes_of_value(forged), large);
  stranger.send(UcxTransport::kControlAm, bytes_of_value(forged), "");
  stranger.send(UcxTransport::kOfferAm, bytes_of_value(forged),
                std::string_view(large).substr(0, 16));
  const std::string empty_message(sizeof(wire::Header), '\0');
  stranger.send(UcxTransport::kBatchAm, bytes_of_value(forged), empty_message);
  ASSERT_TRUE(pair.pump([&] {
    stranger.progress();
    return pair.server.transport->counters().unknown_token == 6;
  }));
  EXPECT_TRUE(pair.server.received.empty());
  EXPECT_TRUE(pair.server.downs.empty());
  ASSERT_EQ(pair.client.send(pair.client_link, {}, "still here"), Sent::now);
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 1; }));
}

TEST(UcxHostile, MessagesWithoutAHeaderAreDroppedAndCounted) {
  TestPair pair;
  Stranger stranger(pair.server.transport->worker_address());
  const std::string half(16, 'h');
  const std::string too_long(64, 'h');
  stranger.send(UcxTransport::kMessageAm, bytes_of(half), "boo");
  stranger.send(UcxTransport::kMessageAm, {}, "boo");
  stranger.send(UcxTransport::kControlAm, bytes_of(too_long), "boo");
  stranger.send(UcxTransport::kOfferAm, bytes_of(half), "boo");
  ASSERT_TRUE(pair.pump([&] {
    stranger.progress();
    return pair.server.transport->counters().malformed == 4;
  }));
  EXPECT_TRUE(pair.server.received.empty());
}

TEST(UcxHostile, AnOldTokenIsWorthNothing) {
  TestPair pair;
  ASSERT_EQ(pair.client.send(pair.client_link, {}, "x"), Sent::now);
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 1; }));
  const wire::Header replayed = pair.server.received[0].header;
  ASSERT_NE(replayed.link_token, 0U);
  pair.client.transport->close(pair.client_link);
  ASSERT_TRUE(pair.pump([&] { return !pair.server.downs.empty() && !pair.client.downs.empty(); }));
  const std::uint64_t before = pair.server.transport->counters().unknown_token;
  Stranger stranger(pair.server.transport->worker_address());
  stranger.send(UcxTransport::kMessageAm, bytes_of_value(replayed), "again");
  ASSERT_TRUE(pair.pump([&] {
    stranger.progress();
    return pair.server.transport->counters().unknown_token == before + 1;
  }));
  EXPECT_EQ(pair.server.received.size(), 1U);
}

TEST(UcxHostile, OffersAndAnswersThatMakeNoSenseAreDroppedAndCounted) {
  TestPair pair;
  ASSERT_EQ(pair.client.send(pair.client_link, {}, "x"), Sent::now);
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 1; }));
  const std::uint64_t token = pair.server.received[0].header.link_token;
  constexpr std::uint32_t kGo = 3;
  const wire::Header go{.aux = kGo, .id = 77, .link_token = token};
  const wire::Header message{.id = 1, .link_token = token};
  const std::string empty_offer(16, '\0');
  Stranger stranger(pair.server.transport->worker_address());
  stranger.send(UcxTransport::kControlAm, bytes_of_value(go), "");
  stranger.send(UcxTransport::kOfferAm, bytes_of_value(message), empty_offer);
  stranger.send(UcxTransport::kOfferAm, bytes_of_value(message), "short");
  ASSERT_TRUE(pair.pump([&] {
    stranger.progress();
    return pair.server.transport->counters().malformed == 3;
  }));
  EXPECT_TRUE(pair.server.downs.empty());
  EXPECT_EQ(pair.server.transport->inbound_bytes(), 0U);
}

TEST(UcxHostile, BatchesThatMakeNoSenseAreDroppedAndCounted) {
  TestPair pair;
  ASSERT_EQ(pair.client.send(pair.client_link, {}, "x"), Sent::now);
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 1; }));
  const wire::Header header{.link_token = pair.server.received[0].header.link_token};
  const std::string empty_message(sizeof(wire::Header), '\0');
  const std::string many(kSmallLimit + empty_message.size(), '\0');
  const std::string by_rendezvous(1 << 20, '\0');
  std::string too_long = empty_message + empty_message;
  too_long[offsetof(wire::Header, link_token)] = 33;
  std::string endless = empty_message + empty_message;
  std::fill_n(endless.begin() + offsetof(wire::Header, link_token), 8, '\xFF');
  Stranger stranger(pair.server.transport->worker_address());
  const auto send = [&](std::string_view batch) {
    stranger.send(UcxTransport::kBatchAm, bytes_of_value(header), batch);
  };
  send("");
  send("short");
  send(std::string_view(too_long).substr(0, sizeof(wire::Header) + 1));
  send(too_long);
  send(endless);
  send(many);
  send(by_rendezvous);
  stranger.send(UcxTransport::kBatchAm, bytes_of(std::string_view(many).substr(0, 16)),
                empty_message);
  ASSERT_TRUE(pair.pump([&] {
    stranger.progress();
    return pair.server.transport->counters().malformed == 8;
  }));
  EXPECT_EQ(pair.server.received.size(), 1U);
  EXPECT_TRUE(pair.server.downs.empty());
  send(empty_message);  // to see that it is not the stranger who is refused
  ASSERT_TRUE(pair.pump([&] {
    stranger.progress();
    return pair.server.received.size() == 2;
  }));
}

TEST(UcxHostile, EveryLinkHasItsOwnToken) {
  TestPair pair;
  const LinkId second = pair.client.connect(pair.address);
  ASSERT_TRUE(
      pair.pump([&] { return pair.client.ups.size() == 2 && pair.server.ups.size() == 2; }));
  ASSERT_EQ(pair.client.send(pair.client_link, {.id = 1}, "x"), Sent::now);
  ASSERT_EQ(pair.client.send(second, {.id = 2}, "x"), Sent::now);
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 2; }));
  EXPECT_NE(pair.server.received[0].header.link_token, pair.server.received[1].header.link_token);
  EXPECT_NE(pair.server.received[0].link, pair.server.received[1].link);
}

TEST(UcxHostile, AWorkerAddressOfImpossibleSizeIsRefused) {
  auto worker = Worker::create({.tls = "tcp", .net = "lo"});
  ASSERT_TRUE(worker);
  const auto on_error = [](void*, ucp_ep_h, ucs_status_t) {};
  for (const std::size_t size : {std::size_t{0}, std::size_t{15}, std::size_t{5000}}) {
    const auto endpoint = Endpoint::create(**worker, std::string(size, 'a'), on_error, nullptr);
    ASSERT_FALSE(endpoint);
    EXPECT_EQ(endpoint.error().code, ErrorCode::handshake_failed);
  }
}

}  // namespace
}  // namespace godwit::fabric::ucx
