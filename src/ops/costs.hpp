// What reaching nodes costs this process, as it was measured.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/ids.hpp"

namespace godwit::ops {

// Any thread. Figures of nodes that are gone stay: kMaxFigures of each kind, then all are forgotten
// and measured anew.
class CostBook {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxFigures = 4096;
  static constexpr std::chrono::seconds kFresh{60};

  struct Figure {
    double ns = 0;
    Clock::time_point measured{};
    [[nodiscard]] bool is_fresh() const { return Clock::now() - measured < kFresh; }
  };

  [[nodiscard]] std::optional<Figure> get(NodeId node) const { return find(gets_, node); }
  [[nodiscard]] std::optional<Figure> load(NodeId node) const { return find(loads_, node); }
  // A travelling call from one to the other.
  [[nodiscard]] std::optional<Figure> hop(NodeId from, NodeId to) const {
    return find(hops_, std::pair(from.value, to.value));
  }
  // A call that a worker of the node runs.
  [[nodiscard]] std::optional<Figure> work(NodeId node) const { return find(works_, node); }
  // Each byte of a large get.
  [[nodiscard]] std::optional<Figure> pull_byte(NodeId node) const { return find(pulls_, node); }

  void set_get(NodeId node, double ns) { set(gets_, node, ns); }
  // What a real get took: moves the figure by an eighth of the difference. Nothing before the first
  // set_get(), so that a get that had to connect and ship code does not become the figure.
  void observe_get(NodeId node, double ns) {
    const std::lock_guard lock(mutex_);
    const auto it = gets_.find(node);
    if (it == gets_.end()) return;
    it->second = {it->second.ns + (ns - it->second.ns) / 8, Clock::now()};
  }
  void set_work(NodeId node, double ns) { set(works_, node, ns); }
  void set_pull_byte(NodeId node, double ns) { set(pulls_, node, ns); }
  void set_load(NodeId node, double ns) { set(loads_, node, ns); }
  void set_hop(NodeId from, NodeId to, double ns) {
    set(hops_, std::pair(from.value, to.value), ns);
  }

 private:
  template <class Map, class Key>
  std::optional<Figure> find(const Map& map, const Key& key) const {
    const std::lock_guard lock(mutex_);
    const auto it = map.find(key);
    if (it == map.end()) return std::nullopt;
    return it->second;
  }
  template <class Map, class Key>
  void set(Map& map, const Key& key, double ns) {
    const std::lock_guard lock(mutex_);
    if (map.size() >= kMaxFigures) map.clear();
    map.insert_or_assign(key, Figure{ns, Clock::now()});
  }

  mutable std::mutex mutex_;
  std::map<NodeId, Figure> gets_;
  std::map<NodeId, Figure> loads_;
  std::map<NodeId, Figure> works_;
  std::map<NodeId, Figure> pulls_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Figure> hops_;
};

}  // namespace godwit::ops
