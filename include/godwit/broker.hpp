// Where the topics of streams (stream.hpp) are.
//
//   auto out = godwit::Producer<Reading>::open(fleet.node(0), "readings").value();
//   auto broker = godwit::Broker::connect("redis://127.0.0.1:6379").value();
//   auto in = godwit::Consumer<Reading>::join(broker, "readings", "archive").value();
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/fleet.hpp"

namespace godwit::ref::stream {
class BrokerCore;
}

namespace godwit {

// A node of the fleet, which is what most use, or a Redis server or cluster that is there anyway. A
// small value; copies share its connections, and producers and consumers keep one, so it may go
// before them. Any thread.
class GODWIT_API Broker {
 public:
  // The node itself; nothing is asked. Valid as long as its fleet.
  Broker(const NodeHandle& node);  // NOLINT(google-explicit-constructor): it is one.
  // "redis://user:password@host:6379/0", "rediss://...", "redis+cluster://host:port,host:port",
  // with the options of docs/streams.md. Connects, and waits for that. Errors: bad_address,
  // unsupported (another scheme, or a server older than 7.0), unreachable, unauthorised,
  // handshake_failed.
  [[nodiscard]] static Result<Broker> connect(std::string_view url);
  // The same; items larger than batch_bytes become objects at that node, and only their handles go
  // through the broker. Consumers need a fleet that has the node, too. The node's fleet outlives
  // the broker, and all that was made with it.
  [[nodiscard]] static Result<Broker> connect(std::string_view url, const NodeHandle& objects_at);

  // For people: of a node its name, else the URL without its password.
  [[nodiscard]] std::string name() const;

  // For the library.
  [[nodiscard]] ref::stream::BrokerCore& core() const noexcept { return *core_; }

 private:
  explicit Broker(std::shared_ptr<ref::stream::BrokerCore> core) noexcept
      : core_(std::move(core)) {}
  std::shared_ptr<ref::stream::BrokerCore> core_;
};

}  // namespace godwit
