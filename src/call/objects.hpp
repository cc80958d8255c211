// Objects as calls and the verbs of mobile code need them. Implemented by ref/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/scheduler.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"

namespace godwit::call {

struct ReplyBuffer;

// Any thread.
class Objects {
 public:
  struct Asker {
    NodeId node;               // whose process asks
    bool may_wait = false;     // the function may take its time
    std::uint64_t waiter = 0;  // not 0: Engine::run_again() with it makes the call run again
    bool has_waited = false;   // it runs again, and what it waited for has happened
    // Not null: those waiters that the answer makes ready are put here, and run before the asker is
    // answered: they have waited for it, and the asker has not.
    std::vector<std::uint64_t>* ready = nullptr;
  };
  // One version of an object, readable here: 16-byte aligned, unchanged until `keeps` is gone.
  struct Found {
    Bytes bytes;
    std::shared_ptr<const void> keeps;
  };
  struct ObjectToPut {
    std::uint64_t type = 0;      // the hash of its type's string
    std::uint32_t lifetime = 0;  // GODWIT_LIVES_...
    std::uint32_t readers = 0;
    Duration lease{};
    std::span<const Bytes> parts{};  // one after another
    bool may_wait = false;
  };
  // A version that others may wait for.
  struct Settling {
    Handle handle;
    std::uint32_t how = 0;           // GODWIT_FULFIL, ...
    std::span<const Bytes> parts{};  // one after another
    Error broken{};                  // of a promise that is broken
    bool may_wait = false;
    std::vector<std::uint64_t>* ready = nullptr;  // as an Asker's
  };

  virtual ~Objects() = default;
  // Answers a wire::ObjectRequest about objects that this process is the home of: the reply becomes
  // a result of type bytes. False: there is no answer yet, and Engine::run_again(asker.waiter)
  // follows.
  [[nodiscard]] virtual Result<bool> answer(const Asker& asker, Bytes request,
                                            ReplyBuffer& reply) = 0;
  // Nobody is interested any more.
  virtual void stop_waiting(std::uint64_t waiter) = 0;

  // Does not wait. Nothing: it is not in this process's memory, and find() may have it. Errors: it
  // is this process's, and cannot be had (not_found, permission, stale).
  [[nodiscard]] virtual Result<std::optional<Found>> find_at_once(const Handle& handle) = 0;
  // Of any homes, at the same time; waits for them. Errors: those of resolving a Ref
  // (godwit/ref.hpp).
  struct Search {
    Handle handle;
    Result<Found> found{};
  };
  virtual void find_all(std::span<Search> searches, Duration at_most) = 0;
  [[nodiscard]] Result<Found> find(const Handle& handle, Duration at_most) {
    Search search{.handle = handle};
    find_all({&search, 1}, at_most);
    return std::move(search.found);
  }
  // Of an object that was only promised when the handle was made. True: that promise is kept or
  // broken, and find() says which. False: Engine::run_again(waiter) follows when it is, or when
  // nobody can tell any more, at the latest after `at_most`. Errors: as find_at_once(). Does not
  // wait; the owning thread's.
  [[nodiscard]] virtual Result<bool> is_settled(const Handle& handle, Duration at_most,
                                                std::uint64_t waiter) = 0;
  // A new object of this process's own. Errors: resource_exhausted, would_block.
  [[nodiscard]] virtual Result<Handle> put(const ObjectToPut& object) = 0;
  // Whether settle() does not wait for another process.
  [[nodiscard]] virtual bool is_home_of(const Handle& handle) const = 0;
  // Of any home. Errors: those of Promise and of Ref::update() (godwit/promise.hpp,
  // godwit/ref.hpp).
  [[nodiscard]] virtual Result<Handle> settle(const Settling& what) = 0;
};

}  // namespace godwit::call
