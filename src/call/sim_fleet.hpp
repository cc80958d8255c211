// A fleet in a simulated world, for tests: real engines, stores and transports' contract, with
// functions that record what they did instead of code that was compiled.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "call/engine.hpp"
#include "call/executor.hpp"
#include "code/store/store.hpp"
#include "fabric/sim/world.hpp"

namespace godwit::call::sim {

using fabric::sim::ProcessId;
using fabric::sim::World;

// What every simulated function is called with.
struct Arguments {
  std::uint64_t key = 0;   // of the call; unique
  std::uint64_t hops = 0;  // still to go, for travelling functions
};
[[nodiscard]] constexpr std::uint64_t right_answer(std::uint64_t key) {
  return key * 31 + 7;
}

// Functions of each bundle, by index. `work` is neither inline nor idempotent.
enum SimFunction : std::uint32_t { echo, work, idempotent_work, travel, throws, kSimFunctions };
// Two more: one leaves the answer to the node's Objects, the other adds up two spans of u64.
inline constexpr auto ask = static_cast<SimFunction>(kSimFunctions);
inline constexpr auto sum = static_cast<SimFunction>(kSimFunctions + 1);

// What ran, by key and hop; across crashes, since a model forgets nothing.
using Executions = std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t>;

// Runs jobs after a delay, one event each; or keeps them until they are told to run.
class SimExecutor final : public Executor {
 public:
  SimExecutor(Scheduler& scheduler, std::uint64_t seed) : scheduler_(scheduler), random_(seed) {}
  bool submit(Job& job) override;
  void hold() { hold_ = true; }
  // Outside of the world's events, so that a function may let time pass while it runs.
  void run_held();
  [[nodiscard]] std::size_t held() const { return held_.size(); }
  bool begin_blocking() override { return false; }
  void end_blocking() override {}

 private:
  Scheduler& scheduler_;
  Random random_;
  bool hold_ = false;
  std::vector<Job*> held_;
};

class SimFleet;

// One process of the fleet: a node, or a client that only calls.
struct SimProcess final : Dialer, EngineObserver {
  SimProcess(SimFleet& fleet, ProcessId self, bool serves);
  Result<Dialled> dial(NodeId node, unsigned attempt) override;
  bool knows(NodeId node) const override;
  void seek(NodeId node) override { ++sought[node]; }
  [[nodiscard]] FunctionRef* function(std::size_t bundle, SimFunction function);

  void on_peer_down(NodeId node, const Error& why) override {
    if (watcher != nullptr) watcher->on_peer_down(node, why);
  }
  void on_unreachable(NodeId node, const Error& why) override {
    if (watcher != nullptr) watcher->on_unreachable(node, why);
  }

  void on_overdue(const OverdueFunction& function) override { overdue.push_back(function); }
  void on_overdue_ended(const OverdueFunction& function) override {
    overdue_ended.push_back(function);
  }
  void on_other(NodeId from, const wire::Header& header, Bytes body) override;

  SimFleet& fleet;
  ProcessId id;
  Time booted_at;
  std::unordered_map<NodeId, Time> news;  // when it hears of a node, where a test says so
  std::unordered_map<NodeId, int> sought;
  EngineObserver* watcher = nullptr;  // for a test that wants to know
  FunctionTable functions;
  std::set<std::size_t> opened;  // bundles
  std::unique_ptr<code::Loader> loader;
  std::unique_ptr<code::Store> store;
  std::unique_ptr<SimExecutor> executor;
  std::unique_ptr<Engine> engine;
  Port* port = nullptr;
  std::unique_ptr<fabric::Transport> transport;
  // What the engine told its observer.
  std::vector<OverdueFunction> overdue;
  std::vector<OverdueFunction> overdue_ended;
  std::vector<std::pair<std::uint64_t, std::string>> statuses;  // by the asker's id
};

// How one call of the test went.
struct Record {
  std::uint64_t key = 0;
  ProcessId from;
  SimFunction function = echo;
  std::uint64_t hops = 0;
  std::uint32_t ended = 0;
  wire::OutcomeWord outcome;
  std::uint64_t answer = 0;
  std::string text;
  bool caller_died = false;  // before the call had ended, so nobody hears how it ends
};

class SimFleet {
 public:
  struct Shape {
    std::size_t nodes = 4;
    std::size_t clients = 2;
    std::size_t bundles = 3;
    std::size_t code_budget_bytes = std::size_t{1} << 20;
    std::uint32_t credits = 16;
    std::uint32_t max_hops = 1000;
    Duration idle_link = std::chrono::seconds(60);
    // A process that has started hears of each node within this time.
    Duration news_delay{};
    // What each process may keep of bundles that nobody holds.
    KeptBundles::Limits kept{};
    // Applications hold their bundles; else they open one, call, let go of it, and now and then
    // open it again before a call.
    bool hold_bundles = true;
    double reopen_chance = 0.2;
  };
  SimFleet(std::uint64_t seed, fabric::sim::Options options, Shape shape);
  ~SimFleet();

  [[nodiscard]] World& world() { return world_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] NodeId node(std::size_t index) const { return world_.node_id(nodes_[index]); }
  [[nodiscard]] ProcessId node_process(std::size_t index) const { return nodes_[index]; }
  [[nodiscard]] ProcessId client_process(std::size_t index) const { return clients_[index]; }
  // Null while the process is down.
  [[nodiscard]] SimProcess* at(ProcessId process);
  [[nodiscard]] const code::Bundle& bundle(std::size_t index) const { return bundles_[index]; }

  // Starts a call and keeps its record.
  Record& call(ProcessId from, NodeId to, std::size_t bundle, SimFunction function,
               std::uint64_t hops, Duration deadline);
  // A call by its record; null once it has ended.
  [[nodiscard]] OutgoingCall* outgoing(const Record& record);

  [[nodiscard]] const std::vector<std::unique_ptr<Record>>& records() const { return records_; }
  // All but those whose callers died.
  [[nodiscard]] bool all_ended() const;
  [[nodiscard]] Executions& executions() { return executions_; }
  // Called once, by the next function while it runs.
  std::function<void()> while_running;

 private:
  friend struct SimProcess;
  static void record_end(OutgoingCall& call);
  void forget_calls_of(ProcessId process);

  Shape shape_;
  std::vector<code::Bundle> bundles_;
  std::vector<ProcessId> nodes_, clients_;
  std::unordered_map<std::uint32_t, SimProcess*> up_;
  std::vector<std::unique_ptr<Record>> records_;
  std::unordered_map<std::uint64_t, OutgoingCall*> under_way_;
  Executions executions_;
  std::size_t over_ = 0;  // ended, or their callers died
  World world_;           // last: it takes the processes down, and they still use the rest
};

}  // namespace godwit::call::sim
