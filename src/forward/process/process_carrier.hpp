// One rank's way to ranks in other processes, for one exchange.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "fabric/memory/memfd.hpp"
#include "fabric/transport.hpp"
#include "fabric/waiter.hpp"
#include "forward/carrier.hpp"
#include "forward/chunk_stack.hpp"
#include "forward/process/chunk_wire.hpp"
#include "forward/process/shared_arena.hpp"

namespace godwit::forward {

class ProcessMember;

// A chunk that came from another process: its items lie in a message, or in that process's memory.
struct Parcel : detail::Chunk {
  Buffer body;
  std::uint32_t ticket = ChunkWire::kNoTicket;
};

// As Carrier says. Chunks it received go back to it before it dies.
class ProcessCarrier final : public Carrier, private detail::ChunkHome {
 public:
  ProcessCarrier(std::shared_ptr<ProcessMember> member, std::uint64_t exchange,
                 const ExchangeSpec& spec, std::shared_ptr<SharedArena> arena);
  ~ProcessCarrier() override;

  void send(Chunk* chunk) noexcept override;
  Chunk* receive() noexcept override;
  void wait(Deadline deadline) override;
  std::optional<Error> lost() override;
  std::shared_ptr<ChunkArena> arena() override { return arena_; }
  void recover() noexcept override;

  // All below: the reactor's owner.
  [[nodiscard]] std::uint64_t exchange() const noexcept { return exchange_; }
  [[nodiscard]] const SharedArena* own_arena() const noexcept { return arena_.get(); }
  // Chunks to be sent, and parcels that are done with.
  [[nodiscard]] Chunk* take_outgoing() noexcept { return outgoing_.take(); }
  [[nodiscard]] Chunk* take_returned() noexcept { return returned_.take(); }
  [[nodiscard]] Chunk* take_arrived() noexcept { return arrived_.take(); }
  void recycle(Parcel* parcel);
  // Whether a chunk came from another process, and belongs to this carrier.
  [[nodiscard]] bool owns(const Chunk& chunk) const noexcept { return chunk.home == this; }
  // A chunk message. Errors: protocol_violation, out_of_memory.
  [[nodiscard]] Status accept(Rank from, fabric::Message& message);
  // The memory of a rank, which this one can read from here on.
  void see_memory(Rank of, fabric::Mapping memory);
  void set_seen_by(Rank rank) { seen_by_[static_cast<std::size_t>(rank)] = true; }
  // Whether a rank can read this one's arena.
  [[nodiscard]] bool is_seen_by(Rank rank) const {
    return seen_by_[static_cast<std::size_t>(rank)];
  }
  void lose(Error why);

 private:
  void give_back(Chunk* chunk) noexcept override;
  void wake() noexcept;
  // What is to leave does so now, or soon.
  void push_out() noexcept;
  [[nodiscard]] Status place_items(Parcel& parcel, const ChunkWire& wire, Rank from,
                                   fabric::Message& message);

  const std::shared_ptr<ProcessMember> member_;
  const std::uint64_t exchange_;
  const std::vector<detail::ItemType> types_;
  const std::shared_ptr<SharedArena> arena_;  // null: nobody could read it

  ChunkStack arrived_;
  ChunkStack outgoing_;
  ChunkStack returned_;
  std::atomic<fabric::Waiter*> waiting_ = nullptr;
  std::atomic<bool> has_lost_ = false;
  std::mutex lost_mutex_;
  std::optional<Error> lost_;  // under lost_mutex_

  // The reactor's owner's.
  std::vector<fabric::Mapping> memory_of_;  // by rank
  std::vector<bool> seen_by_;               // by rank
  std::vector<std::unique_ptr<Parcel>> spare_;
};

}  // namespace godwit::forward
