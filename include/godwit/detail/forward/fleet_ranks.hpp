// The untyped part of a FleetExchange: the program's own rank, and what nodes are told of theirs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "godwit/detail/forward/port.hpp"
#include "godwit/error.hpp"
#include "godwit/exchange_options.hpp"
#include "godwit/export.hpp"
#include "godwit/fleet.hpp"
#include "godwit/items.hpp"
#include "godwit/meet.hpp"
#include "godwit/mobile/rank.hpp"
#include "godwit/outcome.hpp"

namespace godwit {

struct FleetExchangeOptions {
  // Of every rank. `workers` are the threads that run the kernel on a node; shares_work and
  // trace_events are not for nodes (invalid_argument), and spill_folder is the program's own.
  ExchangeOptions exchange{};
  Pace pace = Pace::free;
  Way way = Way::automatic;
  // For all of it, from opening the ranks to the last result.
  std::chrono::milliseconds deadline = std::chrono::hours(1);
};

namespace detail {

// Used by the program's thread.
class GODWIT_API FleetRanks {
 public:
  // How often a place to meet is chosen, if it turns out to be taken.
  static constexpr int kAttempts = 8;
  // How long the calls of an exchange that has failed get to say how they ended.
  static constexpr std::chrono::milliseconds kSettle{1000};

  [[nodiscard]] static Result<std::unique_ptr<FleetRanks>> prepare(
      std::span<const NodeHandle> nodes, const FleetExchangeOptions& options);
  ~FleetRanks();
  FleetRanks(const FleetRanks&) = delete;
  FleetRanks& operator=(const FleetRanks&) = delete;

  // What the function on a node is told, and how long its call may take.
  [[nodiscard]] RankOrder order(Rank rank) const;
  [[nodiscard]] std::chrono::nanoseconds time_left() const;

  // Waits until all ranks have met. `ended`: why one of the calls is over already, if one is.
  using Ended = std::function<std::optional<Error>()>;
  [[nodiscard]] Status meet(const ItemType& type, const Ended& ended);
  // Once they have met, and until leave().
  [[nodiscard]] Port& port() const noexcept;
  [[nodiscard]] ExchangeStatus status() const;
  // Once: invalid_argument afterwards.
  [[nodiscard]] Result<RunReport> run(const Port::Process& process);
  // The program's rank ends, and with it the exchange, if it has not ended. At most 1.5 s.
  void leave();

  // A failure of a node's call, for a person.
  [[nodiscard]] Error error_of(std::size_t rank, const Failure& failure) const;
  [[nodiscard]] Error returned_early(std::size_t rank) const;
  // What to say of an exchange that has lost a rank, when the nodes' calls ended like that.
  [[nodiscard]] Error explain(Error why, const std::vector<std::optional<Failure>>& calls) const;

 private:
  struct State;
  explicit FleetRanks(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace detail
}  // namespace godwit
