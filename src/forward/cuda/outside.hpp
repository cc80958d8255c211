// What a team has to do with ranks that do not share its GPU: ranks on CPUs, on other GPUs, on
// other hosts. Kernels emit to them as to any rank; those items lie in queues that nobody here
// reads.
//
// When a round of the team has ended they are copied to pinned memory of the host and leave as
// chunks of a CPU rank do, by threads, shared memory or the network. To a rank on another GPU of
// the same process chunks go as they lie, and it copies them from GPU to GPU. What comes is copied
// to the end of the queues that are read next.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "forward/cuda/extension.hpp"
#include "forward/cuda/lender.hpp"
#include "forward/cuda/pinned.hpp"
#include "forward/cuda/terms.hpp"
#include "forward/outpost.hpp"
#include "godwit/cuda/options.hpp"
#include "godwit/exchange_options.hpp"

namespace godwit::cuda {

// A round of the team, whose kernels have all ended.
struct TeamRound {
  const detail::Queues& queues;    // of the round that begins: what has come is read
  std::span<std::uint64_t> items;  // by bin, to be read
  std::uint64_t chunks = 0;        // in use for them
  cudaStream_t stream = nullptr;
  bool wants_save = false;  // rank 0, if it is here, wants it saved
};
// The same of all ranks.
struct WholeRound {
  std::uint64_t alive = 0;
  std::uint64_t held_back = 0;
  bool is_to_be_saved = false;
};

// Of the ranks of one process. Used by whoever acts for all of them.
class Outside {
 public:
  // `memory`: what the queues lie in. `sends`: for the whole team, through its first rank, which is
  // in this process.
  [[nodiscard]] static Result<std::unique_ptr<Outside>> create(const Terms& terms,
                                                               std::span<const Rank> local,
                                                               Lender::Memory memory, bool sends);
  ~Outside();
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

  // A rank's outpost, which stays its own.
  void admit(Rank rank, forward::Outpost& outpost);
  // The rank goes, and what has come for it with it.
  void dismiss(Rank rank) noexcept;

  // Before a round ends: what others copy from this GPU is free again. Waits for them.
  [[nodiscard]] Status await_copies();
  // Sends and takes in, and corrects the counts of items. Waits for all ranks of the exchange.
  [[nodiscard]] Result<WholeRound> exchange(const TeamRound& round);
  // What has come for a rank and waits for room.
  [[nodiscard]] Status show_waiting(Rank rank, const forward::Outpost::Holding::Show& show) const;
  // Ends the exchange on all ranks.
  void break_off(const Error& why) noexcept;

 private:
  // Of what has come for a rank, the first `taken` items are in its queue.
  struct Arrival {
    forward::Chunk* chunk = nullptr;
    std::uint32_t taken = 0;
  };
  struct Guest {
    Rank rank = 0;
    forward::Outpost* outpost = nullptr;
    std::array<std::deque<Arrival>, detail::kMaxKinds> waiting;
    [[nodiscard]] std::uint64_t items(std::uint32_t kind) const noexcept;
    [[nodiscard]] std::uint64_t items() const noexcept;
  };
  struct Request {
    Guest* guest = nullptr;
    std::uint32_t kind = 0;
  };
  // Chunks that are being filled; given back if something fails.
  struct Batch {
    ~Batch();
    std::vector<forward::Chunk*> chunks;
  };

  static constexpr std::uint32_t kMaxPieces = 4096;

  Outside(const Terms& terms, bool sends) : terms_(terms), sends_(sends) {}

  // sending
  [[nodiscard]] Status send(const TeamRound& round);
  [[nodiscard]] Status send_bin(const TeamRound& round, std::uint32_t kind, Rank to,
                                const detail::ChunkId* ids, Batch& batch);
  [[nodiscard]] Status lend(std::byte* items, std::uint32_t kind, Rank to, std::uint64_t count);
  [[nodiscard]] Status copy_out(const TeamRound& round, const std::byte* items, std::uint32_t kind,
                                Rank to, std::uint64_t count, Batch& batch);
  [[nodiscard]] Status depart(Batch& batch, cudaStream_t stream);
  [[nodiscard]] std::uint64_t emitted_inside(const TeamRound& round) const noexcept;

  // taking in
  [[nodiscard]] Status take_in(const TeamRound& round, std::uint64_t alive);
  [[nodiscard]] std::uint64_t room(const TeamRound& round, std::uint64_t alive) const noexcept;
  [[nodiscard]] std::vector<Request> make_requests(const TeamRound& round, std::uint64_t room);
  [[nodiscard]] Status copy_in(const TeamRound& round, const Request& request,
                               const Extension& extension, Batch& done);
  [[nodiscard]] Status gather(cudaStream_t stream);
  [[nodiscard]] Status copy_from_gpu(const Piece& piece, Rank of, cudaStream_t stream);
  [[nodiscard]] Status launch_copies(cudaStream_t stream);
  [[nodiscard]] Status keep_the_rest();

  const Terms terms_;
  const bool sends_;
  std::vector<Guest> guests_;
  std::unique_ptr<Lender, Lender::Retire> lender_;
  std::vector<std::unique_ptr<Stager>> stagers_;  // one for each thread that gathers
  std::vector<Piece> from_host_;                  // to be gathered
  PinnedArray<detail::ChunkId> ids_;
  PinnedArray<Extension> extensions_;
  PinnedArray<Piece> pieces_;  // to be copied together
  std::uint32_t pieces_count_ = 0;
};

// How the chunks that leave are made.
[[nodiscard]] ExchangeOptions outpost_options(const Options& options);

}  // namespace godwit::cuda
