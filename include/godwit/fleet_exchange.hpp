// Nodes of a fleet as the ranks of an exchange: a function that travels to them processes items and
// passes them on, from node to node or back to the program.
//
//   auto walk  = code.function<std::uint64_t(godwit::RankOf<Walker>)>("walk").value();
//   auto ranks = godwit::open_ranks(fleet.nodes(), walk).value();   // rank i is the i-th node
//   for (const Walker& walker : walkers) ranks.emit(walker, walker.home);
//   auto report = ranks.run([&](const Walker& done) { ... });       // items sent to the program
//   report->results[2];                                             // what walk returned on rank 2
//
// The program is a rank too, the last: it emits the first items, and gets those that functions emit
// to client(). <godwit/mobile/rank.hpp> is the other side. A rank is a call of the function that
// lasts as long as the exchange; nothing is installed on the nodes, and nothing is left there.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/detail/forward/emitter.hpp"
#include "godwit/detail/forward/fleet_ranks.hpp"
#include "godwit/detail/forward/incoming.hpp"
#include "godwit/error.hpp"
#include "godwit/exchange_options.hpp"
#include "godwit/fleet.hpp"
#include "godwit/function.hpp"
#include "godwit/future.hpp"
#include "godwit/items.hpp"
#include "godwit/kernel.hpp"
#include "godwit/mobile/rank.hpp"

namespace godwit {

// How an exchange over a fleet went.
template <class R>
struct FleetReport {
  std::uint64_t processed = 0;  // items that came to the program
  std::uint64_t rounds = 0;     // 0 if it went without
  std::vector<R> results{};     // what the function returned, by rank
};
template <>
struct FleetReport<void> {
  std::uint64_t processed = 0;
  std::uint64_t rounds = 0;
};

// A resource: move-only, for one thread, no longer than its Fleet. Destroying it before run() ends
// the ranks.
template <class T, class R = void>
class FleetExchange {
 public:
  FleetExchange(FleetExchange&&) noexcept = default;
  FleetExchange& operator=(FleetExchange&&) = delete;
  ~FleetExchange() {
    if (ranks_ != nullptr) ranks_->leave();
  }

  // Takes an item for a node's rank, or for the program itself. One that it does not take (no such
  // rank, no room) also ends run() with an error.
  Emitted emit(const T& item, Rank to, Priority priority = Priority::normal) {
    if (ran_) return Emitted::full;
    return emitter_.emit(item, to, priority);
  }
  // How many nodes are ranks, and the program's own rank behind them.
  [[nodiscard]] Rank ranks() const noexcept { return emitter_.rank(); }
  [[nodiscard]] Rank client() const noexcept { return emitter_.rank(); }

  // Until no item is left on any rank, and all functions have returned; once. handler(item), or
  // handler(item, out) which may emit more, is called on this thread for items that come here. What
  // it throws ends the exchange and comes out of here.
  //
  // Errors end the exchange on all ranks: node_lost (a node is gone), app_error or another code (a
  // kernel threw, or the function did), invalid_argument (an item was emitted to no rank),
  // resource_exhausted (no room for one), deadline. Told within 2 s, unless a kernel is running
  // then and does not return.
  template <class Handler>
  [[nodiscard]] Result<FleetReport<R>> run(Handler&& handler) {
    ran_ = true;
    std::exception_ptr thrown;
    auto report = ranks_->run([&](const detail::Chunk& chunk, std::size_t) {
      if (thrown) return;
      try {
        for (const T& item : detail::items_of<T>(chunk)) {
          if constexpr (std::is_invocable_v<Handler&, const T&, Emitter<T>&>) {
            handler(item, emitter_);
          } else {
            handler(item);
          }
        }
      } catch (...) {
        thrown = std::current_exception();
        ranks_->port().end_with({ErrorCode::app_error, "the program's handler of items threw"});
      }
    });
    ranks_->leave();
    if (thrown) std::rethrow_exception(thrown);
    if (!report) return tl::unexpected(explain(*ranks_, calls_, std::move(report).error()));
    FleetReport<R> all{.processed = report->processed, .rounds = report->rounds};
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      auto outcome = calls_[i].get();
      if (!outcome) return tl::unexpected(ranks_->error_of(i, outcome.error()));
      if constexpr (!std::is_void_v<R>) all.results.push_back(*std::move(outcome));
    }
    return all;
  }

  // Counts of the program's own rank.
  [[nodiscard]] ExchangeStatus status() const { return ranks_->status(); }

 private:
  template <class Result_, class Item, class... Args>
  friend Result<FleetExchange<Item, Result_>> open_ranks(
      std::span<const NodeHandle> nodes, const Function<Result_(RankOf<Item>, Args...)>& function,
      const FleetExchangeOptions& options, Passed<Args>... args);

  using Calls = std::vector<Future<R>>;
  FleetExchange(std::unique_ptr<detail::FleetRanks> ranks, Calls calls)
      : ranks_(std::move(ranks)),
        calls_(std::move(calls)),
        emitter_(ranks_->port(), 0, static_cast<Rank>(calls_.size()),
                 static_cast<Rank>(calls_.size()) + 1) {}

  // A call that has ended although the ranks have not met: why.
  static std::optional<Error> early_end(const detail::FleetRanks& ranks, Calls& calls) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (!calls[i].valid() || !calls[i].ready()) continue;
      auto outcome = calls[i].get();
      return outcome ? ranks.returned_early(i) : ranks.error_of(i, outcome.error());
    }
    return std::nullopt;
  }
  // Why an exchange failed: ranks only see that one of them is gone, and its call may know why.
  // Calls that have not ended within a moment are cancelled.
  static Error explain(const detail::FleetRanks& ranks, Calls& calls, Error why) {
    if (why.code != ErrorCode::node_lost) {
      calls.clear();
      return why;
    }
    const auto until = std::chrono::steady_clock::now() + detail::FleetRanks::kSettle;
    std::vector<std::optional<Failure>> failures(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (!calls[i].valid() || !calls[i].wait_for(until - std::chrono::steady_clock::now()))
        continue;
      auto outcome = calls[i].get();
      if (!outcome) failures[i] = outcome.error();
    }
    calls.clear();
    return ranks.explain(std::move(why), failures);
  }

  std::unique_ptr<detail::FleetRanks> ranks_;
  Calls calls_;  // by rank
  Emitter<T> emitter_;
  bool ran_ = false;
};

// Calls the function on every node, as a rank of one exchange, and waits until all have met. The
// function's other arguments are the same on all nodes, and borrowed until run() has returned.
//
// Errors: invalid_argument (no nodes, options), unsupported (nodes without an address at which
// ranks can meet), overload (a node is as many ranks as it may be), deadline (a rank did not come
// within the patience; it is named), node_lost, and how a function ended that did not become a
// rank.
template <class R, class T, class... Args>
[[nodiscard]] Result<FleetExchange<T, R>> open_ranks(
    std::span<const NodeHandle> nodes, const Function<R(RankOf<T>, Args...)>& function,
    const FleetExchangeOptions& options = {}, Passed<Args>... args) {
  using Exchange = FleetExchange<T, R>;
  detail::check_item<T>();
  detail::ItemType type = detail::item_type<T>();
  type.name = type_name<T>;
  for (int attempt = 1;; ++attempt) {
    auto ranks = detail::FleetRanks::prepare(nodes, options);
    if (!ranks) return tl::unexpected(ranks.error());
    typename Exchange::Calls calls;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const RankOf<T> rank{.order = (*ranks)->order(static_cast<Rank>(i)), .item = {}};
      calls.push_back(function.on(nodes[i]).within((*ranks)->time_left())(rank, args...));
    }
    const Status met = (*ranks)->meet(type, [&] { return Exchange::early_end(**ranks, calls); });
    if (met) return Exchange(*std::move(ranks), std::move(calls));
    // The place was chosen without asking; somebody else may be there.
    if (met.error().code != ErrorCode::address_in_use || attempt == detail::FleetRanks::kAttempts) {
      return tl::unexpected(Exchange::explain(**ranks, calls, met.error()));
    }
  }
}

}  // namespace godwit
