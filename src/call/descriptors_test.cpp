// Open descriptors between engines that are linked by shared memory.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "call/engine.hpp"
#include "fabric/memory/memfd.hpp"
#include "fabric/shm/test_peer.hpp"

namespace godwit::call {
namespace {

using fabric::Fd;
using fabric::kPageSize;
using fabric::shm::ScratchDirectory;
using fabric::shm::ShmTransport;
using std::chrono::milliseconds;

constexpr auto kAsk = static_cast<wire::Kind>(40);
constexpr auto kAnswer = static_cast<wire::Kind>(41);

// A process with an engine; everything happens on the thread of the test.
class Process final : public Dialer, public EngineObserver {
 public:
  explicit Process(std::uint64_t id, Duration idle_link = std::chrono::seconds(60))
      : reactor_(fabric::Reactor::create({}).value()) {
    Engine::Options options;
    options.self = NodeId{id};
    options.epoch = Epoch{1};
    options.name = "p" + std::to_string(id);
    options.idle_link = idle_link;
    engine_ = std::make_unique<Engine>(*reactor_, *this, functions_, nullptr, nullptr, *this,
                                       std::move(options));
    port_ = &engine_->add_port("shm");
    ShmTransport::Options shm;
    shm.hello = [this, id] {
      return fabric::Hello{NodeId{id}, Epoch{1}, wire::encode(engine_->hello())};
    };
    transport_ = ShmTransport::create(*reactor_, *port_, std::move(shm)).value();
    port_->bind(*transport_);
    EXPECT_TRUE(reactor_->add(*transport_));
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() override {
    reactor_->stop();
    reactor_->remove(*transport_);
  }

  bool knows(NodeId) const override { return true; }
  void seek(NodeId) override {}
  Result<Dialled> dial(NodeId, unsigned attempt) override {
    if (attempt > 0 || !peer) return fail(ErrorCode::not_found, "no address");
    GODWIT_TRY(const LinkId link, transport_->connect(*peer));
    return Dialled{port_, link};
  }
  void on_descriptors(NodeId from, const wire::Header& header, Bytes body,
                      std::span<Fd> descriptors) override {
    EXPECT_EQ(header.kind, kAnswer);
    EXPECT_EQ(descriptors.size(), 1U);
    EXPECT_TRUE(fabric::check_memory(descriptors[0].get(), kPageSize));
    received.emplace_back(from, text_of(body));
  }
  void on_other(NodeId from, const wire::Header& header, Bytes) override {
    EXPECT_EQ(header.kind, kAsk);
    EXPECT_TRUE(send(from, "answer"));
  }
  void on_peer_down(NodeId, const Error& why) override { downs.push_back(why); }

  Status send(NodeId to, std::string_view body) {
    const int descriptors[] = {memory_.get()};
    return engine_->send_descriptors(to, {.kind = kAnswer}, bytes_of(body), descriptors);
  }
  Engine& engine() { return *engine_; }
  ShmTransport& transport() { return *transport_; }
  void turn() { reactor_->run_once(); }
  [[nodiscard]] Time now() const { return reactor_->now(); }

  std::optional<fabric::Address> peer;
  std::vector<std::pair<NodeId, std::string>> received;
  std::vector<Error> downs;

 private:
  std::unique_ptr<fabric::Reactor> reactor_;
  FunctionTable functions_;
  std::unique_ptr<Engine> engine_;
  Port* port_ = nullptr;
  std::unique_ptr<ShmTransport> transport_;
  Fd memory_ = fabric::create_memory("test", kPageSize).value();
};

bool until(Process& a, Process& b, const std::function<bool()>& condition) {
  const Time deadline = a.now() + std::chrono::seconds(20);
  while (!condition() && a.now() < deadline) {
    a.turn();
    b.turn();
  }
  return condition();
}

TEST(EngineDescriptors, ReachAPeerByItsNodeIdAndNeedALink) {
  const ScratchDirectory directory;
  Process client(1);
  Process node(2);
  client.peer = node.transport().listen(directory.socket()).value();
  const Status refused = client.send(NodeId{2}, "too early");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unreachable);
  EXPECT_EQ(client.engine().peers_known(), 0U);

  client.engine().send_or_dial(NodeId{2}, kAsk, {});
  ASSERT_TRUE(until(client, node, [&] { return !client.received.empty(); }));
  EXPECT_EQ(client.received[0], std::pair(NodeId{2}, std::string("answer")));
  ASSERT_TRUE(client.send(NodeId{2}, "and back"));
  ASSERT_TRUE(until(client, node, [&] { return !node.received.empty(); }));
  EXPECT_EQ(node.received[0], std::pair(NodeId{1}, std::string("and back")));
}

TEST(EngineDescriptors, AreCountedSoThatAnIdleLinkStillEndsInGoodOrder) {
  const ScratchDirectory directory;
  Process client(1, milliseconds(50));
  Process node(2);
  client.peer = node.transport().listen(directory.socket()).value();
  client.engine().send_or_dial(NodeId{2}, kAsk, {});
  ASSERT_TRUE(until(client, node, [&] { return !client.received.empty(); }));
  ASSERT_TRUE(until(client, node, [&] { return !client.downs.empty() && !node.downs.empty(); }));
  EXPECT_EQ(client.downs[0].code, ErrorCode::none);
  EXPECT_EQ(node.downs[0].code, ErrorCode::none);
}

// A bye said too early must not end the link before the answer that follows it has arrived.
TEST(EngineDescriptors, AnswerOnALinkThatIsBeingLeft) {
  const ScratchDirectory directory;
  Process node(2);
  fabric::shm::Peer raw({.hello = [] {
    return fabric::Hello{NodeId{1}, Epoch{1}, wire::encode({16, false, "raw", {}})};
  }});
  ASSERT_TRUE(raw.transport->connect(node.transport().listen(directory.socket()).value()));
  const auto meanwhile = [&](const std::function<bool()>& condition) {
    return fabric::shm::until({&raw}, [&] {
      node.turn();
      return condition();
    });
  };
  ASSERT_TRUE(meanwhile([&] { return !raw.ups.empty(); }));
  const auto send = [&](wire::Kind kind, std::uint64_t sent, std::uint64_t received) {
    const wire::Header header{.kind = kind, .id = sent, .subject = received};
    ASSERT_EQ(raw.transport->send(raw.ups[0], header, {}, 0), fabric::Sent::now);
  };
  const auto heard = [&](std::uint64_t sent, std::uint64_t received) {
    return !raw.received.empty() && raw.received.back().header.kind == wire::Kind::bye &&
           raw.received.back().header.id == sent && raw.received.back().header.subject == received;
  };
  send(wire::Kind::bye, 1, 0);  // the one message it speaks of is still to come
  ASSERT_TRUE(meanwhile([&] { return heard(0, 0); }));
  send(kAsk, 0, 0);
  ASSERT_TRUE(meanwhile([&] { return !raw.descriptors_received.empty() && heard(1, 1); }));
  EXPECT_TRUE(raw.downs.empty());
  send(wire::Kind::bye, 1, 1);
  ASSERT_TRUE(meanwhile([&] { return !raw.downs.empty() && !node.downs.empty(); }));
  EXPECT_EQ(node.downs[0].code, ErrorCode::none);
}

}  // namespace
}  // namespace godwit::call
