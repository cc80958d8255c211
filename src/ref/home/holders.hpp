// Who of those that hold something here is alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/ids.hpp"
#include "base/scheduler.hpp"
#include "godwit/error.hpp"
#include "ref/home/store.hpp"
#include "ref/home/time_heap.hpp"

namespace godwit::ref {

// A holder lives from admit() until it has been silent for the lease, or its node shows up with a
// later epoch. Each such life has a number of its own: what an earlier one held is told apart from
// what the same process holds after it came back. Any thread.
class Holders {
 public:
  struct Options {
    Duration lease;
    Duration lost_grace;
    std::size_t max_holders;
    std::function<bool(NodeId)> is_linked;  // may be null
  };
  struct Life {
    NodeId node;
    std::uint64_t number = 0;
  };
  struct Admission {
    std::uint64_t life = 0;
    std::optional<Life> ended;  // of the same node's earlier process: let go of what it holds
  };

  Holders(const Clock& clock, const Options& options) : clock_(clock), options_(options) {}

  // Its life, which begins now if it had none. Errors: node_lost (a later process of that node is
  // known), overload (too many holders), invalid_argument (no node).
  [[nodiscard]] Result<Admission> admit(Holder holder);
  // False: it has no life here.
  bool renew(Holder holder);
  // Its process has ended, most likely: it has lost_grace to come back.
  void lost(NodeId node);
  // Nothing is heard of it any more: it has a whole lease from now to come back.
  void cut_off(NodeId node);
  // Ends its life; the caller lets go of what it holds. None: it has no life here.
  [[nodiscard]] std::optional<Life> take(Holder holder);
  // One whose time is over; it is forgotten here, and the caller lets go of what it holds.
  [[nodiscard]] std::optional<Life> take_silent(Time now);
  [[nodiscard]] Time next() const;
  [[nodiscard]] std::size_t size() const;

 private:
  struct Known : TimeHook {
    Holder holder;
    std::uint64_t life = 0;
  };

  [[nodiscard]] Life forget(Known& known);

  const Clock& clock_;
  const Options options_;
  mutable std::mutex mutex_;
  std::unordered_map<NodeId, Known> known_;
  TimeHeap<Known> times_;
  std::uint64_t lives_ = 0;
};

}  // namespace godwit::ref
