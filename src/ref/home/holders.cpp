#include "ref/home/holders.hpp"

#include "base/fail.hpp"

namespace godwit::ref {

Result<Holders::Admission> Holders::admit(Holder holder) {
  if (!holder.node) {
    return fail(ErrorCode::invalid_argument,
                "a holder without a node id cannot hold anything: pass the id of its node");
  }
  const std::lock_guard lock(mutex_);
  Admission admission;
  auto place = known_.find(holder.node);
  if (place != known_.end()) {
    Known& known = place->second;
    if (holder.epoch < known.holder.epoch) {
      return fail(ErrorCode::node_lost,
                  "holder {} of epoch {} is over, since its node came back with epoch {}: let go "
                  "of what the earlier process held",
                  to_hex(holder.node.value), to_hex(holder.epoch.value),
                  to_hex(known.holder.epoch.value));
    }
    if (holder.epoch == known.holder.epoch) {
      admission.life = known.life;
      return admission;
    }
    admission.ended = Life{holder.node, known.life};
  } else if (known_.size() >= options_.max_holders) {
    return fail(ErrorCode::overload,
                "holder {} is one too many: {} processes hold objects here; try again when some "
                "have left, or raise max_holders",
                to_hex(holder.node.value), known_.size());
  } else {
    place = known_.try_emplace(holder.node).first;
  }
  Known& known = place->second;
  known.holder = holder;
  known.life = admission.life = ++lives_;
  times_.set(known, after(clock_.now(), options_.lease));
  return admission;
}

bool Holders::renew(Holder holder) {
  const std::lock_guard lock(mutex_);
  const auto place = known_.find(holder.node);
  if (place == known_.end() || place->second.holder != holder) return false;
  times_.set(place->second, after(clock_.now(), options_.lease));
  return true;
}

void Holders::lost(NodeId node) {
  const std::lock_guard lock(mutex_);
  const auto place = known_.find(node);
  if (place == known_.end()) return;
  const Time end = after(clock_.now(), options_.lost_grace);
  if (end < place->second.at) times_.set(place->second, end);
}

void Holders::cut_off(NodeId node) {
  const std::lock_guard lock(mutex_);
  const auto place = known_.find(node);
  if (place != known_.end()) times_.set(place->second, after(clock_.now(), options_.lease));
}

std::optional<Holders::Life> Holders::take(Holder holder) {
  const std::lock_guard lock(mutex_);
  const auto place = known_.find(holder.node);
  if (place == known_.end() || place->second.holder != holder) return std::nullopt;
  return forget(place->second);
}

std::optional<Holders::Life> Holders::take_silent(Time now) {
  const std::lock_guard lock(mutex_);
  for (Known* known = times_.due(now); known != nullptr; known = times_.due(now)) {
    // A link tells of its end: a process that is silent on one was stopped, and may go on.
    if (!options_.is_linked || !options_.is_linked(known->holder.node)) return forget(*known);
    times_.set(*known, after(now, options_.lease));
  }
  return std::nullopt;
}

// With the lock held.
Holders::Life Holders::forget(Known& known) {
  const Life life{known.holder.node, known.life};
  times_.set(known, kNever);
  known_.erase(life.node);
  return life;
}

Time Holders::next() const {
  const std::lock_guard lock(mutex_);
  return times_.next();
}

std::size_t Holders::size() const {
  const std::lock_guard lock(mutex_);
  return known_.size();
}

}  // namespace godwit::ref
