// A rank whose kernels run on CPU threads.
//
//   cpu_port.cpp       making it, what it tells the others, how it ends
//   emission.cpp       the slow path of emit: chunks are sealed, sent, spilled
//   rounds.cpp         advance(): one round
//   free_run.cpp       run() without rounds
//   sharing.cpp        work that ranks take over from each other
//   saving.cpp         checkpoint() and restore(), wherever items lie; save_trace()
//   outpost.cpp        the same for a rank whose items lie elsewhere
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "forward/arrivals.hpp"
#include "forward/carrier.hpp"
#include "forward/checkpoint.hpp"
#include "forward/chunk_pool.hpp"
#include "forward/control.hpp"
#include "forward/outbox.hpp"
#include "forward/outpost.hpp"
#include "forward/port_trace.hpp"
#include "forward/spill_file.hpp"
#include "forward/termination.hpp"
#include "forward/worker_team.hpp"
#include "godwit/detail/forward/port.hpp"

namespace godwit::forward {

class CpuPort final : public detail::Port, public Outpost, private Termination::Way {
 public:
  // Where the rank's items lie, if not in chunks that the way between the ranks suggests.
  struct Site {
    bool is_elsewhere = false;
    std::shared_ptr<ChunkArena> arena;
  };
  CpuPort(Rank rank, Rank ranks, std::unique_ptr<Carrier> carrier,
          std::span<const detail::ItemType> types, const ExchangeOptions& options, Site site);
  ~CpuPort() override;
  // Tells the others what this rank expects, and hears the same of them.
  [[nodiscard]] Status meet();

  std::span<Cursor> cursors(std::size_t worker) noexcept override {
    return outboxes_[worker].cursors();
  }
  Emitted refill(std::size_t worker, std::size_t slot, std::size_t bytes) noexcept override;
  void refuse(Emitted why, std::uint32_t kind, Rank to) noexcept override;
  void end_with(Error why) noexcept override;
  void set_fold(std::uint32_t kind, Fold fold) override { folds_[kind] = std::move(fold); }
  Result<Round> advance() override;
  std::span<const Chunk* const> incoming() const noexcept override { return incoming_; }
  void process_incoming(const Process& process) override;
  Result<RunReport> run(const Process& process, const RunOptions& options) override;
  Status checkpoint(const std::string& folder) override;
  void keep(detail::Kept kept) override { kept_.push_back(std::move(kept)); }
  Result<std::uint64_t> restore(const std::string& folder, const Replay& replay,
                                Restoring how) override;
  Status save_trace(const std::string& path) override;
  ExchangeStatus status() const override;

  bool is_elsewhere(Rank rank) const noexcept override {
    return elsewhere_[static_cast<std::size_t>(rank)];
  }
  bool hands_over(Rank rank) const noexcept override { return carrier_->hands_over(rank); }
  void send_note(Rank to, std::string_view bytes) override;
  Result<Note> await_note() override;
  Status agree(const Status& mine) override;
  Chunk* take_chunk(std::size_t items_bytes) noexcept override;
  Status send_chunk(Chunk* chunk) override;
  Status begin_round(const Unseen& unseen) override;
  Result<Arrived> end_round() override;
  Status look_around() override;
  void break_off(const Error& why) override { (void)give_up(why); }
  Status save(const std::string& folder, const Holding& holding) override;
  Result<std::uint64_t> load(const std::string& folder, Restoring how,
                             const Taking& taking) override;
  Status adopt(const Chunk& saved, Was was) override;
  PortTrace& trace() noexcept override { return trace_; }
  [[nodiscard]] std::optional<Rank> first_elsewhere() const noexcept;

 private:
  // emission.cpp; all of them under lock_.
  Emitted refill_locked(Outbox& outbox, std::size_t slot, std::size_t bytes) noexcept;
  void dispatch(Chunk* chunk) noexcept;
  void flush(Outbox& outbox) noexcept;
  void unspill() noexcept;

  // cpu_port.cpp
  [[nodiscard]] std::string introduction() const;
  void tell(Rank to, Control control, std::string_view text = {});
  void send(Rank to, const TerminationMessage& message) override;
  // Takes in what has arrived; whether anything had.
  bool accept_arrivals();
  void accept_control(Chunk* chunk);
  void hear_of_end(const Chunk& chunk);
  // Takes in arrivals until `ready`; `missing` names what has not come, for the error.
  template <class Ready, class Missing>
  [[nodiscard]] Status wait_until(Ready&& ready, Missing&& missing);
  template <class Missing>
  [[nodiscard]] Status check_peers(Missing&& missing);
  // A rank that goes through this round by rounds while this one runs free, or the other way round.
  [[nodiscard]] std::optional<Rank> out_of_step();
  template <class Missing>
  [[nodiscard]] Error too_late(Missing&& missing) const;
  // Ends the exchange on all ranks.
  [[nodiscard]] tl::unexpected<Error> give_up(Error why);
  [[nodiscard]] Status check_usable();

  // rounds.cpp
  void release_incoming() noexcept;
  void send_round_end();
  [[nodiscard]] Status await_round();
  void take_incoming();
  void fold(const Chunk& chunk);
  void process_chunks(std::span<Chunk* const> chunks, const Process& process);
  void end_pass() noexcept;
  void process_chunk(const Chunk& chunk, std::size_t worker, const Process& process);

  // free_run.cpp
  [[nodiscard]] Result<RunReport> run_rounds(const Process& process, const RunOptions& options);
  [[nodiscard]] Result<RunReport> run_free(const Process& process);
  // Of what is ready: hands reduced items to their folds, the others to the kernel. Each returns
  // how many items there were.
  std::uint64_t fold_ready();
  std::uint64_t process_ready(const Process& process);
  void flush_all() noexcept;

  // sharing.cpp
  void ask_for_work();
  void give_work(Rank to, std::uint64_t round);
  [[nodiscard]] Deadline look_again() const noexcept;

  // saving.cpp
  [[nodiscard]] Status save_part(const std::string& path, std::uint64_t number,
                                 const Holding& holding);
  [[nodiscard]] Status load_parts(const std::string& path, const CheckpointManifest& manifest,
                                  Restoring how, const Taking& taking);
  // Others wait while this rank writes or reads, at most for as long as their patience lasts.
  void stay_in_touch();
  // What all say of something that all do, by rank: how it went, and a text.
  enum class Hears : std::uint8_t { rank_0, all };
  [[nodiscard]] Result<std::vector<std::string>> gather(const Status& mine, std::string text,
                                                        Hears who = Hears::rank_0);

  [[nodiscard]] Arrivals& filling() noexcept { return arrivals_[(current_ + 1) & 1U]; }
  [[nodiscard]] std::uint64_t total_emitted() const noexcept;  // in sealed chunks
  [[nodiscard]] std::uint64_t items_open() const noexcept;     // in open ones

  const Rank rank_;
  const Rank ranks_;
  const ExchangeOptions options_;
  const std::vector<detail::ItemType> types_;
  std::unique_ptr<Carrier> carrier_;
  const std::unique_ptr<ChunkPool, ChunkPool::Retire> pool_;
  std::vector<Outbox> outboxes_;  // one per worker
  WorkerTeam workers_;
  std::vector<Fold> folds_;  // by kind
  std::vector<detail::Kept> kept_;

  PortTrace trace_;
  PortTrace::Mark queue_mark_{"queue bytes at most"};

  std::mutex lock_;  // of what workers share, down to the empty line
  SpillFile spill_;
  std::vector<Chunk*> stayed_;              // sealed, for this rank itself
  std::vector<std::uint64_t> chunks_sent_;  // by rank, this round
  std::uint64_t queued_sent_ = 0;           // items, this round
  std::uint64_t spilled_ = 0;               // items, ever
  std::optional<Error> refusal_;            // the first item that was not taken, or end_with()
  std::optional<Error> spill_error_;
  std::uint64_t all_chunks_sent_ = 0;

  std::uint64_t current_ = 0;         // rounds so far; what is emitted now belongs to the next
  std::uint64_t number_ = 0;          // the same, with those before a checkpoint it went on from
  std::uint64_t adopted_ = 0;         // items that were never emitted here, but in such rounds
  bool wants_save_ = false;           // at the end of this round; only rank 0 does
  bool is_to_be_saved_ = false;       // what this round brought
  std::array<Arrivals, 2> arrivals_;  // of the next round and of the one after it, by parity
  std::vector<Chunk*> incoming_mutable_;
  std::vector<const Chunk*> incoming_;
  std::uint64_t arrived_ = 0;         // items, ever
  std::uint64_t emitted_before_ = 0;  // at the end of the last round, without those still held back
  std::vector<std::string> introductions_;  // by rank
  Rank introduced_ = 0;
  std::vector<std::uint64_t>
      left_after_;  // by rank: rounds it took part in; of those still there: ~0
  std::optional<Error> over_;
  bool met_ = false;

  std::vector<bool> elsewhere_;  // by rank: whether its items lie in a GPU's memory
  std::deque<Note> notes_;
  Unseen unseen_;  // of the round that ends

  // How each rank's part of something went that all do.
  struct Agreement {
    explicit Agreement(Rank ranks)
        : heard(static_cast<std::size_t>(ranks)), ends(static_cast<std::size_t>(ranks)) {}
    void hear(Rank rank, ErrorCode why, std::string_view text) {
      const auto at = static_cast<std::size_t>(rank);
      heard[at] = true;
      ends[at] = {why, std::string(text)};
      ++count;
    }
    std::vector<bool> heard;
    std::vector<Error> ends;  // ErrorCode::none: well, and the message is what it had to say
    Rank count = 0;
  };
  std::array<Agreement, 2> agreements_;  // this one and the next, by parity
  std::uint64_t agreed_ = 0;
  std::chrono::steady_clock::time_point in_touch_;

  Termination* termination_ = nullptr;                 // of the run that is under way
  std::vector<Chunk*> early_;                          // control of the next run
  std::array<std::deque<Chunk*>, kPriorities> ready_;  // to process, in that run
  std::vector<Rank> sharers_;                          // other ranks that hold the same data
  std::size_t asked_sharers_ = 0;                      // one after another; none had work to give
  bool work_asked_ = false;                            // and not yet answered
  std::uint64_t taken_over_ = 0;                       // items
};

}  // namespace godwit::forward
