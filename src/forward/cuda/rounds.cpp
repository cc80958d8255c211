// How a team goes through rounds.
#include <algorithm>
#include <atomic>

#include "base/fail.hpp"
#include "forward/cuda/cuda_error.hpp"
#include "forward/cuda/team.hpp"

namespace godwit::cuda {

using detail::Crew;
using std::chrono::steady_clock;

namespace {

// A launch for a round whose items are not yet counted is cut for at least so many.
constexpr std::uint64_t kSmallRound = 32 * 1024;

}  // namespace

Result<Round> Team::advance(Member& member) {
  if (member.stream_used) {
    GODWIT_CHECK(check_cuda(cudaEventRecord(member.idle, member.stream), "ending a round"));
  }
  GODWIT_CHECK(meeting_.meet(terms_.patience, [&] { return close(); }));
  member.processed = false;
  if (refusal_) return tl::unexpected(*refusal_);
  Round round{.number = number(member), .alive = alive_, .held_back = held_back_};
  for (std::uint32_t kind = 0; kind < terms_.size.kinds; ++kind) {
    if (!terms_.kinds.reduced[kind]) {
      round.incoming += items(kind, member.rank);
    } else if (items(kind, member.rank) > 0) {
      member.folds[kind](queues_,
                         kind * terms_.size.ranks + static_cast<std::uint32_t>(member.rank),
                         member.stream);
      member.stream_used = true;
      GODWIT_CHECK(detail::check_launch("fold(item)"));
    }
  }
  return round;
}

Result<Team::Ran> Team::run(Member& member, const detail::Launcher& launcher,
                            std::span<const std::byte> functor) {
  if (member.stream_used) {
    GODWIT_CHECK(check_cuda(cudaEventRecord(member.idle, member.stream), "beginning to run"));
  }
  member.launcher = launcher;
  member.functor = functor;
  const std::uint64_t before = ended_;
  GODWIT_CHECK(meeting_.meet(terms_.patience, [&] { return run_all(); }));
  if (refusal_) return tl::unexpected(*refusal_);
  return Ran{.report = {.processed = member.ran_items, .rounds = ended_ - before},
             .is_to_be_saved = is_to_be_saved_ && alive_ > 0};
}

Status Team::close() {
  Status status = check_cuda(cudaSetDevice(terms_.device), "using the GPU");
  if (status) status = await_streams();
  if (status) status = begin_close();
  if (status) status = end_close();
  if (!status) fail_all(status.error());
  return status;
}

void Team::fail_all(const Error& error) noexcept {
  board_->fail_all(error);
  if (outside_ != nullptr) outside_->break_off(error);
}

Status Team::await_streams() {
  for (Member& member : members_) {
    if (!member.stream_used) continue;
    member.stream_used = member.stream_given;
    GODWIT_CHECK(check_cuda(cudaStreamWaitEvent(stream_, member.idle), "waiting for kernels"));
  }
  return {};
}

// Processes cannot wait for each other on the GPU: each waits for its own kernels, and all for all.
Status Team::begin_close() {
  const std::uint64_t round = ++begun_;
  if (wants_save()) board_->page().save_round = round;
  if (processes_ > 1) {
    GODWIT_CHECK(check_cuda(cudaStreamSynchronize(stream_), "the kernels of a round"));
    auto& arrivals = board_->page().arrivals;
    arrivals.fetch_add(1);
    if (owner_) {
      GODWIT_CHECK(board_->wait([&] { return arrivals.load() >= round * processes_; },
                                steady_clock::now() + terms_.patience, "the other processes"));
    }
  }

  if (outside_ != nullptr) GODWIT_CHECK(outside_->await_copies());
  const detail::Queues closing = queues_;
  queues_.parity ^= 1;
  if (!owner_) return {};
  Report* const report = sorter_ != nullptr ? board_->device_draft() : board_->device_report(round);
  GODWIT_CHECK(
      check_cuda(close_round(closing, terms_.kinds, round, report, stream_), "ending a round"));
  return sorter_ != nullptr ? sort_round(round) : Status{};
}

// Rank 0, if it is here, is the first.
bool Team::wants_save() {
  const Member& first = members_.front();
  return first.rank == 0 && first.schedule != nullptr && first.schedule->ends_round();
}

// Items are put in order before anybody is told of them: the report is written here then.
Status Team::sort_round(std::uint64_t round) {
  BoardPage& page = board_->page();
  const std::atomic_ref<std::uint64_t> drafted(page.draft.round);
  GODWIT_CHECK(board_->wait([&] { return drafted.load(std::memory_order_acquire) == round; },
                            steady_clock::now() + terms_.patience, "the kernels of a round"));
  const std::span items(page.draft.items, std::size_t{terms_.size.kinds} * terms_.size.ranks);
  GODWIT_CHECK(sorter_->sort(queues_, terms_.kinds, items, stream_));
  GODWIT_CHECK(check_cuda(cudaStreamSynchronize(stream_), "sorting items"));
  Report& report = page.reports[round % kReports];
  report.alive = page.draft.alive;
  report.refusals = page.draft.refusals;
  for (std::size_t from = 0; from < 2; ++from) {
    report.chunks_held[from] = page.draft.chunks_held[from];
    report.chunks_kept[from] = page.draft.chunks_kept[from];
  }
  std::copy(items.begin(), items.end(), report.items);
  std::atomic_ref(report.round).store(round, std::memory_order_release);
  return {};
}

Status Team::end_close() {
  const std::uint64_t round = ended_ + 1;
  const Report& report = board_->page().reports[round % kReports];
  const std::atomic_ref<std::uint64_t> number(const_cast<std::uint64_t&>(report.round));
  GODWIT_CHECK(board_->wait([&] { return number.load(std::memory_order_acquire) == round; },
                            steady_clock::now() + terms_.patience, "the kernels of a round"));
  if (round == 1) {
    is_traced_ = std::any_of(members_.begin(), members_.end(),
                             [](const Member& member) { return member.trace->is_on(); });
  }
  ended_ = round;
  alive_ = report.alive;
  is_to_be_saved_ = board_->page().save_round == round;
  for (std::size_t from = 0; from < 2; ++from) {
    chunks_kept_[from] = report.chunks_kept[from];
    chunks_high_[from] = std::max(chunks_high_[from], report.chunks_held[from]);
    if (is_traced_) {
      marks_[from].rise_to(*members_.front().trace, chunks_high_[from] * detail::kChunkBytes);
    }
  }
  for (Member& member : members_) {
    for (std::uint32_t kind = 0; kind < terms_.size.kinds; ++kind) {
      member.arrived +=
          report.items[kind * terms_.size.ranks + static_cast<std::uint32_t>(member.rank)];
    }
  }
  std::copy_n(report.items, terms_.size.kinds * terms_.size.ranks, items_.begin());
  refusal_.reset();
  if (Status taken = check_refusals(report.refusals); !taken) refusal_ = std::move(taken).error();
  for (Member& member : members_) {
    if (queues_.keys != nullptr && member.launches > detail::kMaxLaunches - 1) {
      refusal_ =
          Error{ErrorCode::unsupported,
                fmt::format("rank {} launched {} kernels in one round of a deterministic "
                            "exchange, which keeps no more than {} apart: the order of items "
                            "is not certain",
                            member.rank, member.launches, detail::kMaxLaunches - 1)};
    }
    member.launches = 0;
  }
  // The first round shows that the team works; the others hear of it when the exchange is made.
  return outside_ != nullptr && round > 1 ? exchange_outside(report) : Status{};
}

// Ranks outside know of no item that was refused here, and go no further without it: so it is an
// error for all, as between ranks on CPUs.
Status Team::exchange_outside(const Report& report) {
  if (refusal_) return tl::unexpected(*refusal_);
  const std::size_t bins = std::size_t{terms_.size.kinds} * terms_.size.ranks;
  const TeamRound here{.queues = queues_,
                       .items = std::span(items_).first(bins),
                       .chunks = report.chunks_kept[0] + report.chunks_kept[1],
                       .stream = stream_,
                       .wants_save = is_to_be_saved_};
  GODWIT_TRY(const WholeRound round, outside_->exchange(here));
  alive_ = round.alive;
  held_back_ = round.held_back;
  is_to_be_saved_ = round.is_to_be_saved;
  for (Member& member : members_) {
    for (std::uint32_t kind = 0; kind < terms_.size.kinds; ++kind) {
      const std::uint32_t bin = terms_.bin(kind, member.rank);
      member.arrived += items_[bin] - report.items[bin];
    }
  }
  return {};
}

Status Team::check_refusals(const detail::Refusals& refusals) const {
  if (refusals.bad_rank > 0) {
    return fail(ErrorCode::invalid_argument,
                "{} items were emitted to ranks that do not exist, such as {}; there are {}",
                refusals.bad_rank, static_cast<std::int64_t>(refusals.rank), terms_.size.ranks);
  }
  if (refusals.full > 0) {
    return fail(
        ErrorCode::resource_exhausted,
        "{} items found no room: the {} MiB of the GPU and the {} MiB to spill into are full; "
        "raise Options::queue_bytes or spill_bytes",
        refusals.full, terms_.size.device_chunks * detail::kChunkBytes >> 20,
        terms_.size.host_chunks * detail::kChunkBytes >> 20);
  }
  if (refusals.stuck > 0) {
    return fail(ErrorCode::node_lost, "kernels waited in vain for another process' kernel");
  }
  return {};
}

std::uint64_t Team::local_items() const noexcept {
  std::uint64_t sum = 0;
  for (const Member& member : members_) {
    for (std::uint32_t kind = 0; kind < terms_.size.kinds; ++kind) sum += items(kind, member.rank);
  }
  return sum;
}

// One for all members if they run the same functor, else one for each.
Result<std::vector<Crew>> Team::form_crews() {
  std::vector<Crew> crews;
  for (Member& member : members_) {
    GODWIT_TRY(Crew crew, this->crew(member, member.functor, stream_));
    crews.push_back(crew);
  }
  const bool alike = std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
    return member.launcher == members_.front().launcher && !member.processed;
  });
  if (alike) {
    crews.front().count = static_cast<std::uint32_t>(members_.size());
    crews.resize(1);
  }
  return crews;
}

Status Team::launch_crews(std::span<const Crew> crews) {
  const std::uint64_t expected = std::max(kSmallRound, 2 * local_items());
  detail::Queues queues = queues_;
  queues.launch = detail::kMaxLaunches - 1;  // after what members launched in this round themselves
  for (std::size_t i = 0; i < crews.size(); ++i) {
    if (members_[i].processed) continue;
    GODWIT_CHECK(detail::launch_items(members_[i].launcher, queues, crews[i], expected, stream_));
  }
  return {};
}

Status Team::launch_folds() {
  for (std::uint32_t kind = 0; kind < terms_.size.kinds; ++kind) {
    if (!terms_.kinds.reduced[kind]) continue;
    for (const Member& member : members_) {
      member.folds[kind](
          queues_, kind * terms_.size.ranks + static_cast<std::uint32_t>(member.rank), stream_);
      GODWIT_CHECK(detail::check_launch("fold(item)"));
    }
  }
  return {};
}

void Team::count_incoming() {
  for (Member& member : members_) {
    for (std::uint32_t kind = 0; kind < terms_.size.kinds && !member.processed; ++kind) {
      if (!terms_.kinds.reduced[kind]) member.ran_items += items(kind, member.rank);
    }
  }
}

// What came to the members in a round of a run, which began when the last was reported.
void Team::trace_round(Time began) {
  for (const Member& member : members_) {
    std::uint64_t arrived = 0;
    for (std::uint32_t kind = 0; kind < terms_.size.kinds; ++kind) {
      if (!terms_.kinds.reduced[kind]) arrived += items(kind, member.rank);
    }
    member.trace->record(
        "round", 0,
        {.begin = began, .lasted = forward::PortTrace::now() - began, .items = arrived});
  }
}

Status Team::run_rounds() {
  GODWIT_CHECK(await_streams());
  for (Member& member : members_) {
    member.ran_items = 0;
    if (local_items() == 0) member.processed = false;
  }
  GODWIT_TRY(const std::vector<Crew> crews, form_crews());
  count_incoming();
  GODWIT_CHECK(launch_crews(crews));
  for (Member& member : members_) member.processed = false;
  GODWIT_CHECK(begin_close());
  // Within one process the next round is launched before the last one's report is read: a launch
  // that finds no items costs less than a GPU that waits for the host.
  const bool alone = processes_ == 1 && outside_ == nullptr;
  // Not so if what the last one brings is to be saved first.
  const std::uint64_t ahead = alone && sorter_ == nullptr ? 1 : 0;
  const std::atomic<std::uint64_t>& save_round = board_->page().save_round;
  do {
    const Time began = is_traced_ ? forward::PortTrace::now() : Time{};
    while (begun_ - ended_ <= ahead && begun_ != save_round) {
      GODWIT_CHECK(launch_folds());
      GODWIT_CHECK(launch_crews(crews));
      GODWIT_CHECK(begin_close());
    }
    GODWIT_CHECK(end_close());
    if (is_traced_) trace_round(began);
    count_incoming();
  } while (alive_ > 0 && !refusal_ && !is_to_be_saved_);
  const bool was_ahead = begun_ > ended_;
  while (ended_ < begun_ && !refusal_) GODWIT_CHECK(end_close());
  if (was_ahead) return {};
  GODWIT_CHECK(launch_folds());
  return check_cuda(cudaStreamSynchronize(stream_), "folding the last items");
}

Status Team::run_all() {
  Status status = check_cuda(cudaSetDevice(terms_.device), "using the GPU");
  if (status) status = run_rounds();
  if (!status) fail_all(status.error());
  return status;
}

}  // namespace godwit::cuda
