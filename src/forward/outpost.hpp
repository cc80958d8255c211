// The end of an exchange at a rank whose items lie elsewhere than in chunks of its process, such as
// in a GPU's memory. To the other ranks it is a rank like any other: they need not know, and in a
// checkpoint nothing shows where ranks had their items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forward/checkpoint.hpp"
#include "forward/chunk_pool.hpp"
#include "forward/port_trace.hpp"
#include "godwit/detail/forward/chunk.hpp"
#include "godwit/detail/forward/kept.hpp"
#include "godwit/detail/forward/port.hpp"
#include "godwit/error.hpp"
#include "godwit/exchange_options.hpp"
#include "godwit/export.hpp"
#include "godwit/group.hpp"
#include "godwit/items.hpp"

namespace godwit::forward {

// Belongs to one rank; used by one thread at a time.
class GODWIT_API Outpost {
 public:
  // Makes the memory that chunks are carved out of, given the one in which they need not be copied
  // on their way (null: anywhere).
  using Arena = std::function<std::shared_ptr<ChunkArena>(std::shared_ptr<ChunkArena>)>;
  // Waits for all ranks of the group. Errors: as Exchange::create. All ranks agree() next, CPU
  // ranks within their create().
  [[nodiscard]] static Result<std::unique_ptr<Outpost>> create(
      Group& group, std::span<const detail::ItemType> types, const ExchangeOptions& options,
      const Arena& arena = {});
  virtual ~Outpost() = default;

  // Whether a rank, maybe this one, keeps its items elsewhere too.
  [[nodiscard]] virtual bool is_elsewhere(Rank rank) const noexcept = 0;
  // Whether a rank gets chunks as they are: then their items may lie anywhere.
  [[nodiscard]] virtual bool hands_over(Rank rank) const noexcept = 0;

  // Messages between outposts, for what they have to settle before anything moves. One is waited
  // for as long as the patience lasts.
  struct Note {
    Rank from = 0;
    std::string bytes;
  };
  virtual void send_note(Rank to, std::string_view bytes) = 0;
  [[nodiscard]] virtual Result<Note> await_note() = 0;
  // Tells all ranks how this one's part went, and hears of theirs: the first failure by rank is
  // everybody's. An error leaves the exchange as it was.
  [[nodiscard]] virtual Status agree(const Status& mine) = 0;

  // A chunk to fill with items: `kind`, `destination`, `count` and `used` are the caller's to set.
  // Null: the system has no memory.
  [[nodiscard]] virtual Chunk* take_chunk(std::size_t items_bytes) noexcept = 0;
  // Sends it in this round; what exceeds the memory for outgoing items waits in the spill file. A
  // chunk that lies elsewhere is the caller's again when it is given back.
  [[nodiscard]] virtual Status send_chunk(Chunk* chunk) = 0;

  // Items of this rank that the outpost does not see; reduced ones among what was emitted are not
  // counted.
  struct Unseen {
    std::uint64_t emitted = 0;    // in this round, to ranks that are reached without the outpost
    std::uint64_t held_back = 0;  // that wait for room
    bool wants_save = false;      // what the round brings is to be saved; only rank 0 says so
  };
  // Ends the round. Does not wait: several outposts of a thread begin before any of them ends.
  [[nodiscard]] virtual Status begin_round(const Unseen& unseen) = 0;
  // What the other ranks sent in it, reduced items too; chunks are the caller's to give back before
  // the outpost dies. Waits for all ranks.
  struct Arrived {
    Round round;
    std::vector<Chunk*> chunks;
    bool is_to_be_saved = false;  // by all ranks, next
  };
  [[nodiscard]] virtual Result<Arrived> end_round() = 0;
  // Whether all ranks are still there; for who waits for something else.
  [[nodiscard]] virtual Status look_around() = 0;
  // Ends the exchange on all ranks, unless it is over.
  virtual void break_off(const Error& why) = 0;

  // What follows all ranks call together, between two rounds, as the Exchange's.
  virtual void keep(detail::Kept kept) = 0;

  using Was = CheckpointFolder::Part::Was;
  // A rank's items to a checkpoint: all but those that wait in the outpost's spill file.
  struct Holding {
    Status ready = {};        // or why they cannot be saved now: then no rank's are
    std::uint64_t round = 0;  // that brought them
    // Shows them all, in chunks that are valid until show() returns.
    using Show = std::function<Status(const Chunk& chunk, Was was)>;
    std::function<Status(const Show& show)> each = {};
  };
  [[nodiscard]] virtual Status save(const std::string& folder, const Holding& holding) = 0;

  // Takes saved chunks in for the next round; each is valid until the call returns.
  struct Taking {
    std::function<Status(const Chunk& chunk, Was was)> as_it_was;
    std::function<Status(const Chunk& chunk)> by_route;
    std::function<Status()> finish;  // that was all
  };
  // Returns the round that was saved, 0 if there is nothing.
  [[nodiscard]] virtual Result<std::uint64_t> load(const std::string& folder,
                                                   detail::Port::Restoring how,
                                                   const Taking& taking) = 0;
  // For a saved chunk that is to leave by the outpost: it goes with the next rounds.
  [[nodiscard]] virtual Status adopt(const Chunk& saved, Was was) = 0;

  [[nodiscard]] virtual Status save_trace(const std::string& path) = 0;
  [[nodiscard]] virtual PortTrace& trace() noexcept = 0;
};

}  // namespace godwit::forward
