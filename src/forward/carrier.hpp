// The way between the ranks of one exchange: threads hand chunks over, processes send them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>

#include "forward/chunk_pool.hpp"
#include "godwit/detail/forward/chunk.hpp"
#include "godwit/error.hpp"
#include "godwit/exchange_options.hpp"
#include "godwit/items.hpp"
#include "godwit/kernel.hpp"

namespace godwit::forward {

using detail::Chunk;
using Deadline = std::chrono::steady_clock::time_point;

// Belongs to one rank. Chunks from one rank to another arrive once and in any order.
class Carrier {
 public:
  virtual ~Carrier() = default;
  // Takes a sealed chunk to its destination, which is another rank. Any thread of this rank. What
  // cannot arrive any more is given back, and lost() tells of it.
  virtual void send(Chunk* chunk) noexcept = 0;
  // All that has arrived, oldest first, linked by `next`; null if nothing has. The taker gives
  // every chunk back when it is done with it.
  [[nodiscard]] virtual Chunk* receive() noexcept = 0;
  // Returns when receive() or lost() may have news, or at the deadline; also now and then without.
  virtual void wait(Deadline deadline) = 0;
  // A rank that died or cannot be reached, once there is one.
  [[nodiscard]] virtual std::optional<Error> lost() { return std::nullopt; }

  // Whether chunks reach a rank as they are, wherever their items lie.
  [[nodiscard]] virtual bool hands_over(Rank /*to*/) const noexcept { return false; }

  // Where chunks are to be made so that they need not be copied on their way; null: anywhere.
  [[nodiscard]] virtual std::shared_ptr<ChunkArena> arena() { return nullptr; }
  // Any thread of this rank: brings home chunks that their destinations are done with, as far as
  // that has not happened by itself.
  virtual void recover() noexcept {}
};

// What a rank expects of an exchange.
struct ExchangeSpec {
  std::span<const detail::ItemType> types;
  const ExchangeOptions& options;
};

}  // namespace godwit::forward

namespace godwit::detail {

// One member of a group: what makes carriers.
class GroupCore {
 public:
  virtual ~GroupCore() = default;
  [[nodiscard]] virtual Rank rank() const noexcept = 0;
  [[nodiscard]] virtual Rank ranks() const noexcept = 0;
  // The way between the members for the next exchange; members open the same ones in one order.
  [[nodiscard]] virtual Result<std::unique_ptr<forward::Carrier>> open(
      const forward::ExchangeSpec& spec) = 0;
};

}  // namespace godwit::detail
