// A call this node was asked to make and has not finished at once: parked until its code is here,
// watching until an element changes, resolving the objects among its arguments, waiting to run
// again, queued or running on the executor, or travelling on from here.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/list.hpp"
#include "call/context.hpp"
#include "call/executor.hpp"
#include "call/objects.hpp"
#include "call/posted.hpp"
#include "code/store/store.hpp"

namespace godwit::call {

struct CodeFetch;
struct LinkState;
struct IncomingTag;
struct ParkedTag;
struct RunningTag;

// Of the arguments of a call that waits without holding a credit: so its memory has a limit.
inline constexpr std::size_t kMaxKeptArgumentBytes = 16'384;

struct IncomingCall : Executor::Job,
                      ListHook<IncomingTag>,
                      ListHook<ParkedTag>,
                      ListHook<RunningTag> {
  IncomingCall() { context.reply = &reply; }

  enum class State : std::uint8_t { parked, watching, resolving, waiting, running, travelling };

  State state = State::parked;
  LinkState* link = nullptr;  // null once the link is down: nobody waits for the answer
  NodeId caller;
  std::uint64_t caller_id = 0;
  Time deadline;
  ContentId bundle_id;
  std::uint32_t function = 0;
  wire::TravelExtension travel;
  bool travels = false;  // arrived as a hop: answer its intake, or its origin
  Buffer body;           // extension and arguments
  Bytes arguments;

  // Set: no call at all, but a function's wish to have the code of bundle_id here (code_fetch.hpp).
  std::shared_ptr<CodeFetch> fetch;
  bool holds_credit = true;  // counts as outstanding on its link
  bool waits_long = false;   // is in LinkState::waiting_long

  // Begins when `change` has happened; while it waits for that, its place in Watches, from 1 on.
  bool awaits_change = false;
  wire::ChangeExtension change;
  std::size_t watched_at = 0;
  // What stands for some of its arguments, and once it is here, where it lies: in the same order
  // (object_arguments.cpp).
  std::vector<wire::ObjectExtension> objects;
  std::vector<Objects::Found> found;
  std::size_t settled = 0;         // so many of them are not waited for as promises
  std::optional<Error> not_found;  // why one of them cannot be had
  bool awaits_objects = false;
  // While it waits to run again (waiting.cpp): what it is known by.
  std::uint64_t waiter = 0;
  bool has_waited = false;  // its function has begun, asked to run again, and does

  // What the entry is told: with objects among the arguments, all memory.
  [[nodiscard]] std::size_t arguments_reach() const noexcept {
    return objects.empty() ? arguments.size() : SIZE_MAX;
  }

  code::Bundle bundle;  // kept while running: its residence may go
  code::LibraryUse* library = nullptr;
  godwit_entry entry = nullptr;
  std::uint64_t token = 0;
  std::atomic<bool> cancelled{false};
  CallContext context;
  ReplyBuffer reply;
  std::int32_t status = 0;
  Posted finished;

  // On the executor: when the function began (0: not yet), and whether it never did because its
  // caller had given up by then.
  std::atomic<std::int64_t> began_ns{0};
  bool skipped = false;
  bool overdue = false;  // and the observer knows

  // While travelling: its id here, and where it was last known to be.
  std::uint64_t intake_id = 0;
  NodeId whereabouts;
  OutgoingCall* hop = nullptr;
};

// Reuses records; used by the owning thread alone.
class IncomingPool {
 public:
  [[nodiscard]] IncomingCall& acquire();
  void release(IncomingCall& call);
  [[nodiscard]] std::size_t in_use() const { return in_use_; }

 private:
  std::vector<std::unique_ptr<IncomingCall>> all_;
  std::vector<IncomingCall*> free_;
  std::size_t in_use_ = 0;
};

}  // namespace godwit::call
