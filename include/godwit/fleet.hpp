// The nodes that know each other, as a program sees them.
//
//   auto fleet = godwit::Fleet::local(4).value();         // four nodes on this machine
//   auto fleet = godwit::Fleet::join("tcp:10.0.0.7:7400").value();
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/channel.hpp"
#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/lifetime.hpp"

namespace godwit::call {
class Caller;
}
namespace godwit::ops {
class RegionHost;
}
namespace godwit::ref {
class ObjectAccess;
}

namespace godwit {

class Bundle;
class Fleet;

// A node to call. A small value; valid as long as its fleet.
class GODWIT_API NodeHandle {
 public:
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  // The name its operator gave it, or its id in hexadecimal if the fleet forgot it.
  [[nodiscard]] std::string name() const;
  friend bool operator==(const NodeHandle& a, const NodeHandle& b) { return a.id_ == b.id_; }

  // Makes an object there, and a Ref to it; <godwit/ref.hpp> says more, and has to be included. A
  // Result<Ref<T>>, for a vector or span of plain elements Result<Ref<T[]>>.
  template <class V>
  [[nodiscard]] auto put(const V& value, const PutOptions& options = {}) const;
  // Several in as few messages as hold them; a vector of such results, in the order of the values.
  // <godwit/ref_batch.hpp> has it.
  template <class V>
  [[nodiscard]] auto put_batch(std::span<const V> values, const PutOptions& options = {}) const;

  // For the library.
  NodeHandle(call::Caller& caller, std::uint64_t id) : caller_(&caller), id_(id) {}
  [[nodiscard]] call::Caller& caller() const noexcept { return *caller_; }
  [[nodiscard]] ref::ObjectAccess& objects() const noexcept;
  [[nodiscard]] std::chrono::nanoseconds default_deadline() const;

 private:
  call::Caller* caller_;
  std::uint64_t id_;
};

enum class NodeState : std::uint8_t { up, leaving, lost };
[[nodiscard]] GODWIT_API std::string_view to_string(NodeState state) noexcept;

struct NodeDescription {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;
  std::string name;
  std::vector<std::string> addresses;
  std::string machine;  // "x86_64"
  std::string cpu;      // as its system names it
  bool has_jit = false;
  std::uint32_t cores = 0;
  std::uint64_t memory_bytes = 0;
  NodeState state = NodeState::up;
};

// What a client may set.
struct ClientOptions {
  std::string name = "client";
  std::string key_file{};  // the fleet's key; empty: none, loopback only
  std::chrono::nanoseconds default_deadline = std::chrono::seconds(60);
  // How long a waiting thread polls before it sleeps. More is faster answers for more CPU.
  std::int64_t spin_us = 50;
  std::chrono::nanoseconds connect_timeout = std::chrono::seconds(5);
  // Where this process may put and find objects' bytes, beside the memory of their homes. The homes
  // have channels of the same names in their settings.
  std::vector<ChannelOptions> channels{};
};

enum class LocalTransport : std::uint8_t { shm, tcp };

struct LocalOptions {
  LocalTransport transport = LocalTransport::shm;
  // More settings for each node, as `godwit node` takes them: {"--spin-us=0"}.
  std::vector<std::string> node_arguments{};
  // The godwit executable; empty: $GODWIT, then beside this program or in ../bin, then $PATH.
  std::string executable{};
  ClientOptions client{};
};

// A connection to a fleet. Any thread. Outlives every NodeHandle, Function call and Future made
// through it; destroying it ends calls that are still under way, and a local fleet's nodes.
class GODWIT_API Fleet {
 public:
  // Starts `count` nodes as child processes named n0, n1, … and connects to them. They end with
  // this object, or with this process however it ends. Errors: not_found (no executable), io,
  // unreachable (a node did not come up; the message has the end of its log).
  [[nodiscard]] static Result<Fleet> local(std::size_t count, LocalOptions options = {});
  // Connects to the fleet that a node at `address` belongs to: "shm:PATH", "tcp:HOST:PORT",
  // "relay:HOST:PORT" for whichever node is enrolled at a relay, "relay:HOST:PORT/ID" for one of
  // them, or "local" for the fleet that `godwit up` started. Errors: bad_address, unreachable,
  // unauthorised.
  [[nodiscard]] static Result<Fleet> join(std::string_view address, ClientOptions options = {});

  Fleet(Fleet&&) noexcept;
  Fleet& operator=(Fleet&&) noexcept;
  ~Fleet();

  // The nodes that are up, in order of their names.
  [[nodiscard]] std::vector<NodeHandle> nodes() const;
  // The index-th of them; the index must be below nodes().size().
  [[nodiscard]] NodeHandle node(std::size_t index) const;
  // By name, or by id or a unique prefix of it in hexadecimal.
  [[nodiscard]] Result<NodeHandle> find(std::string_view name) const;
  // Everything known, lost nodes included.
  [[nodiscard]] std::vector<NodeDescription> describe() const;

  // What nodes say of themselves: links, calls, code, functions that outlived their deadlines. Each
  // answer is a JSON object (docs/configuration.md, "Looking into a node"), in the order of the
  // nodes; they are asked at the same time, over links that are made if need be. Errors: deadline,
  // node_lost, unreachable, overload (asked more than 16 times within a second).
  [[nodiscard]] std::vector<Result<std::string>> status(
      const std::vector<NodeHandle>& nodes,
      std::chrono::nanoseconds at_most = std::chrono::seconds(5)) const;
  [[nodiscard]] Result<std::string> status(
      const NodeHandle& node, std::chrono::nanoseconds at_most = std::chrono::seconds(5)) const;

  // Names the whole fleet shares. A write is seen here at once and elsewhere soon; concurrent
  // writes of one name settle on one of them.
  Status put_name(std::string_view key, std::string_view value);
  [[nodiscard]] Result<std::string> find_name(std::string_view key) const;
  // Erasing a name that is not there is fine.
  Status erase_name(std::string_view key);

  // Lets nodes have the bundle from here when mobile code asks for its functions, for as long as a
  // copy of it lives. Returns the id to hand to that code, which calls Here::function() with it.
  std::array<std::uint8_t, 32> offer(const Bundle& bundle);

  // Local fleets only (unsupported otherwise): end a node with SIGKILL; start it again.
  Status kill(const NodeHandle& node);
  Status restart(const NodeHandle& node);

  // For the library: what regions (region.hpp) need of this process.
  [[nodiscard]] ops::RegionHost& regions() const;
  // And what references (ref.hpp) need.
  [[nodiscard]] ref::ObjectAccess& objects() const;

 private:
  struct State;
  explicit Fleet(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace godwit
