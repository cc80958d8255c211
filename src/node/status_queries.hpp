// Asking other nodes how they are.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/scheduler.hpp"
#include "base/task.hpp"
#include "call/engine.hpp"

namespace godwit::node {

// The owning thread's. Engine and scheduler outlive it.
class StatusQueries {
 public:
  // Called once, from inside ask() or later.
  using Done = UniqueFunction<void(Result<std::string>)>;
  static constexpr std::size_t kMaxQueries = 65536;

  StatusQueries(call::Engine& engine, Scheduler& scheduler)
      : engine_(engine), scheduler_(scheduler) {}
  ~StatusQueries();
  StatusQueries(const StatusQueries&) = delete;
  StatusQueries& operator=(const StatusQueries&) = delete;

  // The node's status as JSON. A link is made if there is none. Errors: deadline, node_lost,
  // unreachable, overload (asked too often, or kMaxQueries are under way), shutting_down.
  void ask(NodeId node, Duration at_most, Done done);

  void on_answer(NodeId from, const wire::Header& header, Bytes body);
  // No link to the node is left, or none could be made.
  void on_lost(NodeId node, const Error& why);

 private:
  struct Query {
    NodeId node;
    TimerId timer;
    Done done;
  };
  void end(std::uint64_t id, Result<std::string> result);

  call::Engine& engine_;
  Scheduler& scheduler_;
  std::unordered_map<std::uint64_t, Query> queries_;
  std::uint64_t next_id_ = 1;
};

}  // namespace godwit::node
