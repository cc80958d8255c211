// The ranks of one process that share a GPU in one exchange. In every round the last of them to
// come acts for all: it launches, meets the other processes, reads the report, and exchanges items
// with ranks outside the team, if there are any.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "forward/cuda/board.hpp"
#include "forward/cuda/meeting.hpp"
#include "forward/cuda/outside.hpp"
#include "forward/cuda/pool.hpp"
#include "forward/cuda/sorter.hpp"
#include "forward/cuda/terms.hpp"
#include "forward/port_trace.hpp"
#include "forward/save_schedule.hpp"
#include "godwit/detail/forward/cuda/port.cuh"
#include "godwit/items.hpp"

namespace godwit::cuda {

using godwit::detail::ItemType;

// How the owner of the memory invites another process.
struct Invitation {
  PoolHandles handles;
  char board[64];  // Board::path()
  pid_t owner = 0;
  std::uint32_t processes = 0;
};

// One rank of the team. What its thread says here, the one that acts for all reads at a meeting.
struct Member {
  Rank rank = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t idle = nullptr;
  bool stream_used = false;    // in this round, as far as is known
  bool stream_given = false;   // the user launches on it
  bool processed = true;       // this round's items
  std::uint32_t launches = 0;  // in this round
  std::vector<detail::Fold> folds;
  detail::Launcher launcher;
  std::span<const std::byte> functor;
  std::vector<std::byte> sent_functor;  // what the GPU has; sent again only if it changes
  std::uint64_t ran_items = 0;
  std::uint64_t arrived = 0;
  std::uint64_t skipped_rounds = 0;  // of a checkpoint that it went on from; may be less than none
  forward::SaveSchedule* schedule = nullptr;  // of the run under way, if it saves
  forward::PortTrace* trace = nullptr;
};

class Team : public std::enable_shared_from_this<Team> {
 public:
  // Takes the memory, for all processes. `others`: one process id for each further process.
  [[nodiscard]] static Result<std::shared_ptr<Team>> own(const Terms& terms,
                                                         std::span<const Rank> local,
                                                         std::span<const pid_t> others);
  [[nodiscard]] static Result<std::shared_ptr<Team>> join(const Terms& terms,
                                                          std::span<const Rank> local,
                                                          const Invitation& invitation);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] Result<Invitation> invite() const;
  [[nodiscard]] Member& member(Rank rank);
  [[nodiscard]] const Terms& terms() const noexcept { return terms_; }

  // Of the round under way.
  [[nodiscard]] const detail::Queues& queues() const noexcept { return queues_; }
  [[nodiscard]] std::uint64_t items(std::uint32_t kind, Rank rank) const noexcept;
  [[nodiscard]] ExchangeStatus status(const Member& member) const noexcept;
  // One rank's place for a functor on the GPU; filled on `stream`.
  [[nodiscard]] Result<detail::Crew> crew(Member& member, std::span<const std::byte> functor,
                                          cudaStream_t stream);

  // By each member's own thread. admit() comes first; the outpost stays until leave().
  void admit(Member& member, forward::Outpost& outpost);
  [[nodiscard]] Result<Round> advance(Member& member);
  // Until no item is left on any rank, or what a round has brought is to be saved.
  struct Ran {
    RunReport report;
    bool is_to_be_saved = false;
  };
  [[nodiscard]] Result<Ran> run(Member& member, const detail::Launcher& launcher,
                                std::span<const std::byte> functor);
  // saving.cpp: whether this round's items can be saved as they are, when kernels have ended; and
  // those of one rank. Its own thread calls them, and no other.
  [[nodiscard]] Status settle(const Member& member);
  [[nodiscard]] Status show_items(const Member& member, forward::Outpost& outpost,
                                  const forward::Outpost::Holding::Show& show) const;
  // Those of one kind, one behind the other in memory of the host; waits. Its own thread.
  [[nodiscard]] Status copy_items(const Member& member, std::uint32_t kind, std::byte* to) const;
  // The number of the round under way; and the one that the next is to have.
  [[nodiscard]] std::uint64_t number(const Member& member) const noexcept {
    return ended_ - 1 + member.skipped_rounds;
  }
  void number_next(Member& member, std::uint64_t number) const noexcept {
    member.skipped_rounds = number - ended_;
  }
  // A member goes: whoever waits for it learns.
  void leave(const Member& member) noexcept;

 private:
  Team(const Terms& terms, std::span<const Rank> local);
  [[nodiscard]] Status start();
  [[nodiscard]] std::size_t index_of(const Member& member) const noexcept;

  // By whoever acts for all.
  [[nodiscard]] Status close();
  [[nodiscard]] Status run_all();
  [[nodiscard]] Status run_rounds();
  [[nodiscard]] Status await_streams();
  [[nodiscard]] Status begin_close();
  [[nodiscard]] Status end_close();
  [[nodiscard]] bool wants_save();
  [[nodiscard]] Status exchange_outside(const Report& report);
  void fail_all(const Error& error) noexcept;
  [[nodiscard]] Status sort_round(std::uint64_t round);
  // The runs of the GPU's memory that a rank's incoming items of one kind lie in. Waits.
  using Runs = std::vector<std::span<const std::byte>>;
  [[nodiscard]] Result<Runs> runs_of(const Member& member, std::uint32_t kind) const;
  [[nodiscard]] Status check_refusals(const detail::Refusals& refusals) const;
  [[nodiscard]] Result<std::vector<detail::Crew>> form_crews();
  [[nodiscard]] Status launch_crews(std::span<const detail::Crew> crews);
  [[nodiscard]] Status launch_folds();
  void count_incoming();
  void trace_round(Time began);
  [[nodiscard]] std::uint64_t local_items() const noexcept;

  const Terms terms_;
  std::vector<Member> members_;
  Meeting meeting_;
  std::shared_ptr<Board> board_;
  std::shared_ptr<Pool> pool_;
  std::unique_ptr<Sorter> sorter_;    // the owner's, if items are to be in order
  std::unique_ptr<Outside> outside_;  // null: all ranks of the exchange are in the team
  bool owner_ = false;
  std::uint32_t processes_ = 1;
  cudaStream_t stream_ = nullptr;
  std::byte* crew_memory_ = nullptr;

  detail::Queues queues_;    // with the parity of the last launch
  std::uint64_t begun_ = 0;  // rounds whose close was launched
  std::uint64_t ended_ = 0;  // rounds whose report was read
  std::uint64_t alive_ = 0;
  std::uint64_t held_back_ = 0;   // of them: by ranks outside, for lack of room
  bool is_to_be_saved_ = false;   // what the last round brought
  std::optional<Error> refusal_;  // what the last round did not take
  std::array<std::uint64_t, kMaxBins> items_{};
  std::array<std::uint64_t, 2> chunks_kept_{};  // of the GPU, of the host
  std::array<std::uint64_t, 2> chunks_high_{};
  bool is_traced_ = false;
  std::array<forward::PortTrace::Mark, 2> marks_{forward::PortTrace::Mark("queue bytes at most"),
                                                 forward::PortTrace::Mark("spill bytes at most")};
};

}  // namespace godwit::cuda
