// Fleets whose nodes reach each other through a relay. All in this process, and on one host: nodes
// that listen nowhere else stand for those behind walls.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/folder_for_test.hpp"
#include "fabric/relay/server.hpp"
#include "godwit/owned.hpp"
#include "godwit/promise.hpp"
#include "node/fleet_for_test.hpp"
#include "node/node.hpp"
#include "ref/access/access.hpp"
#include "ref/home/store.hpp"

namespace godwit::node {
namespace {

using std::chrono::seconds;

class RunningRelay {
 public:
  explicit RunningRelay(const trust::FleetKey& fleet, std::uint16_t port = 0) {
    std::signal(SIGPIPE, SIG_IGN);
    reactor_ = fabric::Reactor::create({.name = "relay", .offload_threads = 1}).value();
    auto made = fabric::relay::RelayServer::create(
        *reactor_,
        {.listen = {.scheme = fabric::Address::Scheme::tcp, .host = "127.0.0.1", .port = port},
         .key = trust::relay_key_of(fleet)});
    if (!made) ADD_FAILURE() << made.error().message;
    server_ = *std::move(made);
    EXPECT_TRUE(reactor_->start());
  }
  ~RunningRelay() { reactor_->stop(); }
  [[nodiscard]] std::uint16_t port() const { return server_->address().port; }
  [[nodiscard]] std::string place() const { return fmt::format("127.0.0.1:{}", port()); }

 private:
  std::unique_ptr<fabric::Reactor> reactor_;
  std::unique_ptr<fabric::relay::RelayServer> server_;
};

class RelayFleet : public testing::Test {
 protected:
  RelayFleet() {
    EXPECT_TRUE(key_.save(key_file()));
    relay_ = std::make_unique<RunningRelay>(key_);
    address_ = "relay:" + relay_->place();
  }
  [[nodiscard]] std::string key_file() const { return (folder_ / "fleet.key").string(); }
  std::unique_ptr<Node> start(const std::string& name, const std::string& listen) {
    Settings settings;
    settings.name = name;
    settings.listen = {listen};
    if (!listen.starts_with("relay:")) settings.relay = relay_->place();
    settings.join = {address_};
    settings.key_file = key_file();
    settings.runtime_dir = (folder_ / name).string();
    settings.jit = "off";
    auto node = Node::start(settings, log_);
    if (!node) ADD_FAILURE() << node.error().message;
    return *std::move(node);
  }
  // A node answers 16 questions for its status in a second.
  static bool eventually_by_status(const std::function<bool()>& holds) {
    return eventually([&] {
      if (holds()) return true;
      ::poll(nullptr, 0, 100);
      return false;
    });
  }
  // The fleet seen through the relay, once it has `count` nodes.
  Fleet join(std::size_t count) {
    Result<Fleet> fleet = tl::unexpected(Error{});
    EXPECT_TRUE(eventually([&] {
      fleet = Fleet::join(address_, {.key_file = key_file()});
      return fleet.has_value();
    })) << fleet.error().message;
    EXPECT_TRUE(eventually([&] { return fleet->nodes().size() == count; }));
    return *std::move(fleet);
  }
  static std::vector<std::string> transports(const Fleet& fleet, const NodeHandle& node,
                                             std::string_view peer) {
    std::vector<std::string> found;
    const trace::JsonValue status = status_of(fleet, node);
    for (const auto& link : status["links"].items()) {
      if (link["peer"].text() == peer) found.emplace_back(link["transport"].text());
    }
    return found;
  }

  // Two that greet each other at the same time have two links.
  static void expect_relay_only(const Fleet& fleet, const NodeHandle& node, std::string_view peer) {
    const auto ways = transports(fleet, node, peer);
    EXPECT_FALSE(ways.empty());
    for (const std::string& way : ways) EXPECT_EQ(way, "relay");
  }

  trust::FleetKey key_ = trust::FleetKey::generate();
  TestFolder folder_;
  trace::Log log_ = trace::Log::silent();
  std::unique_ptr<RunningRelay> relay_;
  std::string address_;
};

TEST_F(RelayFleet, CallsAndObjectsPassThroughARelay) {
  const auto alpha = start("alpha", address_);
  const auto beta = start("beta", address_);
  const Fleet fleet = join(2);
  const auto add = kernels().function<Add>("add").value();
  for (const NodeHandle& node : fleet.nodes()) {
    EXPECT_EQ(value_of(add.on(node)(2, 3).get()), 5U);
    EXPECT_EQ(transports(fleet, node, "client"), std::vector<std::string>{"relay"});
  }
  std::vector<std::uint64_t> values(700'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i * i;
  const auto ref = fleet.node(1).put(values);
  ASSERT_TRUE(ref) << ref.error().message;
  const auto found = ref->resolve();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(std::equal((*found)->begin(), (*found)->end(), values.begin(), values.end()));
}

TEST_F(RelayFleet, AStreamPassesThroughARelay) {
  const auto alpha = start("alpha", address_);
  const Fleet sender = join(1);
  const Fleet receiver = join(1);
  auto out = Producer<std::string>::open(sender.node(0), "words", {.batch_items = 1}).value();
  auto in = Consumer<std::string>::join(receiver.node(0), "words", "all").value();
  // Within a message, and more than one.
  const std::vector<std::string> words{"one", "two", std::string(5'000'000, 'x'), "last"};
  for (const std::string& word : words) {
    const Status sent = out.send(word, "key");
    ASSERT_TRUE(sent) << sent.error().message;
  }
  ASSERT_TRUE(out.close());
  for (const std::string& word : words) {
    const auto item = in.next(seconds(20));
    ASSERT_TRUE(item) << item.error().message;
    ASSERT_TRUE(*item) << "it ended before " << word.substr(0, 10);
    EXPECT_TRUE(***item == word) << word.substr(0, 10);
    EXPECT_EQ((*item)->key(), "key");
    (*item)->ack();
  }
  const auto end = in.next(seconds(20));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_FALSE(*end);
  expect_relay_only(sender, sender.node(0), "client");
}

TEST_F(RelayFleet, APromiseIsKeptForProgramsAndNodesBeyondARelay) {
  const auto alpha = start("alpha", address_);
  const auto beta = start("beta", address_);
  const Fleet maker = join(2);
  const Fleet consumer = join(2);
  const auto norm = kernels().function<double(std::span<const double>)>("norm").value();
  auto promise = Promise<double[]>::make(maker.find("alpha").value()).value();
  const Handle handle = promise.ref().handle();
  const auto later = Ref<double[]>::from(consumer, handle).value();
  auto waits = later.wait_later(seconds(20));
  // One node waits for what another one is the home of.
  auto called = norm.on(consumer.find("beta").value())(later);
  EXPECT_FALSE(waits.ready());
  ASSERT_TRUE(promise.set(std::vector<double>{3, 4}));
  const auto found = waits.get();
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ((*found)->size(), 2U);
  EXPECT_DOUBLE_EQ(value_of(called.get()), 5);

  const auto lost = [&] {
    const auto never = Promise<double[]>::make(maker.find("beta").value()).value();
    return Ref<double[]>::from(consumer, never.ref().handle()).value();
  }();
  const auto broken = lost.wait(seconds(20));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::cancelled) << broken.error().message;
  expect_relay_only(maker, maker.find("beta").value(), "alpha");
}

TEST_F(RelayFleet, TheDirectWayIsUsedOnceItIsKnown) {
  const auto alpha = start("alpha", "shm:" + (folder_ / "alpha.sock").string());
  const Fleet fleet = join(1);
  const auto add = kernels().function<Add>("add").value();
  const NodeHandle node = fleet.node(0);
  EXPECT_EQ(value_of(add.on(node)(2, 3).get()), 5U);
  ASSERT_TRUE(eventually_by_status([&] {
    const auto ways = transports(fleet, node, "client");
    return std::find(ways.begin(), ways.end(), "shm") != ways.end();
  }));
  // The relay's link is there still; calls do not need it.
  relay_.reset();
  ASSERT_TRUE(eventually_by_status(
      [&] { return transports(fleet, node, "client") == std::vector<std::string>{"shm"}; }));
  EXPECT_EQ(value_of(add.on(node)(2, 3).get()), 5U);
}

TEST_F(RelayFleet, ARelayThatEndsEndsItsCallsAndLosesNothingElse) {
  const auto alpha = start("alpha", address_);
  const Fleet fleet = join(1);
  const NodeHandle node = fleet.node(0);
  const auto add = kernels().function<Add>("add").value();
  EXPECT_EQ(value_of(add.on(node)(2, 3).get()), 5U);
  const std::uint16_t port = relay_->port();
  relay_.reset();
  const auto lost = add.on(node)(2, 3).get();
  ASSERT_FALSE(lost);
  EXPECT_NE(to_string(lost.error()).find(address_), std::string::npos) << to_string(lost.error());
  relay_ = std::make_unique<RunningRelay>(key_, port);
  EXPECT_TRUE(eventually([&] { return add.on(node)(2, 3).get().has_value(); }));
}

// A relay that ends says nothing about those behind it, who have done nothing wrong.
TEST_F(RelayFleet, WhatAProcessHoldsOutlivesTheRelay) {
  const auto alpha = start("alpha", address_);
  const Fleet fleet = join(1);
  const NodeHandle node = fleet.node(0);
  const auto owned = Owned<std::uint64_t>::put(node, std::uint64_t{1}).value();
  const auto lent = Owned<std::uint64_t>::put(node, std::uint64_t{2}).value();
  const auto borrowed = lent.borrow().value();
  const auto scoped = node.put(std::uint64_t{3}, {.lifetime = Lifetime::process()}).value();
  auto promise = Promise<std::uint64_t>::make(node).value();
  const auto promised = promise.ref();

  const std::uint16_t port = relay_->port();
  relay_.reset();
  const auto away_since = std::chrono::steady_clock::now();
  const auto away = [&] { return std::chrono::steady_clock::now() - away_since; };
  ASSERT_TRUE(eventually_by_status([&] { return away() > 2 * ref::ObjectStore::kLostGrace; }));
  relay_ = std::make_unique<RunningRelay>(key_, port);

  const auto add = kernels().function<Add>("add").value();
  ASSERT_TRUE(eventually([&] { return add.on(node)(2, 3).get().has_value(); }));
  // Also when the home has looked for those that did not come back.
  ASSERT_TRUE(eventually_by_status([&] { return away() > ref::ObjectStore::kHolderLease; }));
  EXPECT_TRUE(owned.ref().exists().value_or(false));
  EXPECT_EQ(borrowed.ref().status().value().borrows, 1U);
  EXPECT_TRUE(scoped.exists().value_or(false));
  const auto kept = promise.set(std::uint64_t{4});
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(**promised.wait(seconds(5)), 4U);
}

TEST_F(RelayFleet, ALargeObjectGoesOnThroughTheNextRelay) {
  const auto alpha = start("alpha", address_);
  const Fleet fleet = join(1);
  std::vector<std::uint64_t> values(8 * ref::Pieces::kBytes / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i * i;
  const auto put = fleet.node(0).put(values);
  ASSERT_TRUE(put) << put.error().message;
  const std::uint16_t port = relay_->port();
  std::size_t pieces = 0;
  std::vector<std::byte> came;
  const Status read = fleet.objects().copy_out(put->handle(), {}, [&](Bytes piece) -> Status {
    came.insert(came.end(), piece.begin(), piece.end());
    if (++pieces == 2) {
      relay_.reset();
      relay_ = std::make_unique<RunningRelay>(key_, port);
    }
    return {};
  });
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(pieces, 8U) << "what had come did not come again";
  EXPECT_TRUE(std::ranges::equal(came, std::as_bytes(std::span(values))));
}

}  // namespace
}  // namespace godwit::node
