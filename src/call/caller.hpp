// How threads of an application make calls: the bridge from their side to the engine's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "call/engine.hpp"
#include "fabric/reactor.hpp"
#include "godwit/call_handle.hpp"

namespace godwit::forward {
class RankHost;
}
namespace godwit::ref {
class ObjectAccess;
}

namespace godwit::call {

// Outlives every call made through it. Any thread.
class Caller {
 public:
  struct Options {
    std::chrono::nanoseconds default_deadline = std::chrono::seconds(60);
    std::function<std::string(NodeId)> name_of;  // for people; may be called by any thread
  };
  Caller(fabric::Reactor& reactor, Engine& engine, Executor& continuations, Options options);

  [[nodiscard]] fabric::Reactor& reactor() { return reactor_; }
  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] const Options& options() const { return options_; }
  // What references in arguments and results lead to: a matter of the layer above, of which only
  // the name is known here. Set before the first call.
  void set_objects(ref::ObjectAccess* objects) { objects_ = objects; }
  [[nodiscard]] ref::ObjectAccess* objects() const { return objects_; }
  // Likewise: what opening ranks on nodes needs of this process.
  void set_ranks(forward::RankHost* ranks) { ranks_ = ranks; }
  [[nodiscard]] forward::RankHost* ranks() const { return ranks_; }
  // Distinguishes this caller from one that lived at the same address before.
  [[nodiscard]] std::uint64_t serial() const { return serial_; }

  void start(OutgoingCall& call);
  void cancel(OutgoingCall& call);
  bool wait(OutgoingCall& call, Time deadline);
  void attach(OutgoingCall& call, detail::Continuation& continuation);
  void run(detail::Continuation& continuation);
  // What run() gives the executor to do.
  static void run_queued(Executor::Job& queued);

 private:
  static void ended(OutgoingCall& call);
  struct ContinuationJob;

  fabric::Reactor& reactor_;
  Engine& engine_;
  Executor& continuations_;
  Options options_;
  ref::ObjectAccess* objects_ = nullptr;
  forward::RankHost* ranks_ = nullptr;
  const std::uint64_t serial_;
};

}  // namespace godwit::call
