// Asking a process of this host for memory, and getting descriptors: one kind of question, of which
// the layers above say what it means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>

#include "base/scheduler.hpp"
#include "base/task.hpp"
#include "call/engine.hpp"
#include "fabric/fd.hpp"
#include "wire/header.hpp"

namespace godwit::call {

// The owning thread's. All it is given outlives it.
class Grants {
 public:
  // An answer. A refusal is a message of kind `granted` without descriptors: aux an ErrorCode, the
  // body a sentence.
  struct Granted {
    Bytes body;  // both valid until the handler returns
    std::span<fabric::Fd> descriptors;
  };
  using Done = UniqueFunction<void(Result<Granted>)>;  // called once
  struct Kinds {
    wire::Kind ask;
    wire::Kind granted;
  };
  // Sends what a peer asks for with Engine::send_descriptors(), under the question's id; an error
  // becomes a refusal.
  using Grant = std::function<Status(NodeId asker, const wire::Header& question)>;
  static constexpr std::size_t kMaxQuestions = 4096;

  Grants(Engine& engine, Scheduler& scheduler, Kinds kinds, Grant grant);
  ~Grants();
  Grants(const Grants&) = delete;
  Grants& operator=(const Grants&) = delete;

  // What is wanted is in the question's aux and subject. A link is made if there is none. Errors:
  // the home's, and node_lost, unreachable, deadline, overload, shutting_down.
  void ask(NodeId home, const wire::Header& question, Duration at_most, Done done);

  // What the engine hands up. True if it was of these kinds.
  bool on_message(NodeId from, const wire::Header& header, Bytes body);
  bool on_descriptors(NodeId from, const wire::Header& header, Bytes body,
                      std::span<fabric::Fd> descriptors);
  // No link to the node is left, or none could be made.
  void on_lost(NodeId node, const Error& why);

 private:
  struct Question {
    NodeId home;
    TimerId timer;
    Done done;
  };
  void answer(NodeId asker, const wire::Header& question);
  void end(std::uint64_t id, Result<Granted> result);

  Engine& engine_;
  Scheduler& scheduler_;
  const Kinds kinds_;
  const Grant grant_;
  std::unordered_map<std::uint64_t, Question> questions_;
  std::uint64_t next_id_ = 1;
};

}  // namespace godwit::call
