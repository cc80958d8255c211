// The untyped part of an Exchange: one rank's queues, rounds, and its way to the other ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "godwit/detail/forward/chunk.hpp"
#include "godwit/detail/forward/kept.hpp"
#include "godwit/error.hpp"
#include "godwit/exchange_options.hpp"
#include "godwit/export.hpp"
#include "godwit/group.hpp"
#include "godwit/items.hpp"

namespace godwit::detail {

// One rank of one exchange. Used by the rank's own thread, except that each worker has its own
// cursors and calls refill() and refuse() for itself, and may end_with() an error.
class GODWIT_API Port {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Port>> create(Group& group,
                                                            std::span<const ItemType> types,
                                                            const ExchangeOptions& options);
  virtual ~Port() = default;

  // The cursors of a worker: slot(kind, priority, rank) in rows of ranks.
  [[nodiscard]] virtual std::span<Cursor> cursors(std::size_t worker) noexcept = 0;
  // Makes room for `bytes` at a cursor: seals its chunk, which may leave at once, and takes
  // another. What was written is told by the cursor's position; `count` is taken from it for plain
  // items.
  [[nodiscard]] virtual Emitted refill(std::size_t worker, std::size_t slot,
                                       std::size_t bytes) noexcept = 0;
  // Notes an item that was lost to its emitter: the next advance() or run() tells of it.
  virtual void refuse(Emitted why, std::uint32_t kind, Rank to) noexcept = 0;

  // Ends the exchange on all ranks, with this error, at the next advance() or at once in run(). Any
  // worker.
  virtual void end_with(Error why) noexcept = 0;

  // Folds the items of a reduced kind in `chunk` into the user's data.
  using Fold = std::function<void(const Chunk& chunk)>;
  virtual void set_fold(std::uint32_t kind, Fold fold) = 0;

  // Ends the round: what was emitted becomes the destinations' incoming items.
  [[nodiscard]] virtual Result<Round> advance() = 0;
  // This round's chunks in the order in which to process them; valid until the next advance().
  [[nodiscard]] virtual std::span<const Chunk* const> incoming() const noexcept = 0;

  // Processes one chunk's items with a worker's emitter.
  using Process = std::function<void(const Chunk& chunk, std::size_t worker)>;
  // Calls `process` for every incoming chunk, by all workers.
  virtual void process_incoming(const Process& process) = 0;
  // Rounds or no rounds, until no item is left on any rank.
  [[nodiscard]] virtual Result<RunReport> run(const Process& process,
                                              const RunOptions& options) = 0;

  [[nodiscard]] virtual Status checkpoint(const std::string& folder) = 0;
  virtual void keep(Kept kept) = 0;
  // Emits the items of a saved chunk again.
  using Replay = std::function<void(const Chunk& chunk)>;
  enum class Restoring : std::uint8_t {
    by_route,  // every chunk is replayed
    if_any,    // nothing saved is no error; with as many ranks as then, chunks go where they were
  };
  [[nodiscard]] virtual Result<std::uint64_t> restore(const std::string& folder,
                                                      const Replay& replay, Restoring how) = 0;

  [[nodiscard]] virtual Status save_trace(const std::string& path) = 0;
  [[nodiscard]] virtual ExchangeStatus status() const = 0;
};

}  // namespace godwit::detail
