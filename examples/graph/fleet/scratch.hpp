// A region for as long as an algorithm needs one.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <string_view>
#include <utility>

#include "base/fail.hpp"
#include "fleet/failure.hpp"
#include "fleet/fleet_graph.hpp"

namespace godwit::graph {

// Drops the region at its end. On the graph's nodes, in their order.
template <class T>
class Scratch {
 public:
  static Result<Scratch> create(const FleetGraph& where, std::string_view what,
                                std::uint64_t elements, Sharding sharding) {
    static std::atomic<std::uint32_t> next{0};
    const std::string name =
        fmt::format("{}.{}.{}.{}", where.name(), what, ::getpid(), next.fetch_add(1));
    auto region = Region<T>::create(
        where.fleet(), name, {.elements = elements, .sharding = sharding, .nodes = where.nodes()});
    if (!region) return failed("the graph '" + where.name() + "'", region.error());
    return Scratch(*std::move(region));
  }
  Scratch(Scratch&& other) noexcept : region_(std::exchange(other.region_, {})) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    if (region_) static_cast<void>(region_->drop());
  }
  [[nodiscard]] std::uint64_t id() const { return region_->at(0).region; }

 private:
  explicit Scratch(Region<T> region) : region_(std::move(region)) {}
  std::optional<Region<T>> region_;
};

// The same call at every node of the graph, and what they answered, in the order of shards.
template <class R, class... Params, class... Args>
Result<std::vector<R>> ask_all(const FleetGraph& where, const Function<R(Params...)>& function,
                               const Args&... args) {
  std::vector<Future<R>> calls;
  for (const NodeHandle& node : where.nodes()) calls.push_back(function.on(node)(args...));
  std::vector<R> answers;
  for (auto& call : calls) {
    auto answer = call.get();
    if (!answer) return failed("the graph '" + where.name() + "'", answer.error());
    answers.push_back(*std::move(answer));
  }
  return answers;
}

}  // namespace godwit::graph
