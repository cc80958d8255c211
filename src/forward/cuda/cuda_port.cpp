// One rank's end of a team.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/fail.hpp"
#include "forward/cuda/cuda_error.hpp"
#include "forward/cuda/loader.hpp"
#include "forward/cuda/setup.hpp"
#include "forward/cuda/stopwatch.hpp"
#include "forward/cuda/team.hpp"
#include "godwit/detail/forward/cuda/port.cuh"

namespace godwit::cuda {
namespace {

class CudaPort final : public detail::Port {
 public:
  CudaPort(std::unique_ptr<forward::Outpost> outpost, std::shared_ptr<Team> team, Rank rank)
      : outpost_(std::move(outpost)),
        team_(std::move(team)),
        member_(team_->member(rank)),
        stopwatch_(outpost_->trace()) {
    team_->admit(member_, *outpost_);
  }
  ~CudaPort() override {
    cudaStreamSynchronize(member_.stream);
    team_->leave(member_);
  }

  detail::Queues begin_launch() noexcept override {
    detail::Queues queues = team_->queues();
    // The last number is for run(). More are told when the round ends.
    queues.launch = std::min(member_.launches++, detail::kMaxLaunches - 2);
    return queues;
  }
  cudaStream_t stream() noexcept override {
    member_.stream_used = true;
    return member_.stream;
  }
  cudaStream_t give_stream() noexcept override {
    member_.stream_given = true;
    return stream();
  }
  void set_fold(std::uint32_t kind, detail::Fold fold) override {
    member_.folds[kind] = std::move(fold);
  }
  void mark_processed() noexcept override { member_.processed = true; }

  Emitted put(std::uint32_t kind, std::span<const std::byte> item, Rank to) noexcept override {
    if (emit_failure_) emit_failure_ = put_into_round(kind, item, to);
    if (!emit_failure_) return Emitted::full;
    return is_rank(to) ? Emitted::ok : Emitted::bad_rank;
  }
  Status copy_incoming(std::uint32_t kind, std::byte* to) override {
    return team_->copy_items(member_, kind, to);
  }

  Result<Round> advance() override {
    forward::PortTrace::Span span(outpost_->trace(), "advance", 0);
    GODWIT_CHECK(check_folds());
    GODWIT_CHECK(hand_over());
    GODWIT_TRY(const Round round, team_->advance(member_));
    stopwatch_.record("process");
    span.count(round.incoming);
    return round;
  }
  Status process(const detail::Launcher& launcher, std::span<const std::byte> functor) override {
    GODWIT_TRY(const detail::Crew crew, team_->crew(member_, functor, stream()));
    std::uint64_t items = 0;
    for (std::uint32_t kind = 0; kind < team_->terms().size.kinds; ++kind) items += incoming(kind);
    const detail::Queues queues = begin_launch();
    mark_processed();
    GODWIT_CHECK(stopwatch_.start(stream(), items));
    GODWIT_CHECK(detail::launch_items(launcher, queues, crew, items, stream()));
    return stopwatch_.stop(stream());
  }
  Result<RunReport> run(const detail::Launcher& launcher, std::span<const std::byte> functor,
                        const RunOptions& options) override {
    GODWIT_CHECK(check_folds());
    GODWIT_CHECK(hand_over());
    forward::SaveSchedule schedule(options);
    member_.schedule = options.saves() ? &schedule : nullptr;
    auto report = run_and_save(launcher, functor, options.checkpoint_folder);
    member_.schedule = nullptr;
    stopwatch_.record("process");
    return report;
  }
  ExchangeStatus status() const noexcept override { return team_->status(member_); }
  std::uint64_t incoming(std::uint32_t kind) const noexcept override {
    return team_->items(kind, member_.rank);
  }

  Status checkpoint(const std::string& folder) override {
    const auto show_items = [this](const Outpost::Holding::Show& show) {
      return team_->show_items(member_, *outpost_, show);
    };
    return outpost_->save(
        folder,
        {.ready = team_->settle(member_), .round = team_->number(member_), .each = show_items});
  }
  void keep(godwit::detail::Kept kept) override { outpost_->keep(std::move(kept)); }
  Result<std::uint64_t> restore(const std::string& folder, const Replay& replay,
                                Restoring how) override;
  Status save_trace(const std::string& path) override { return outpost_->save_trace(path); }

 private:
  using Outpost = forward::Outpost;

  Result<RunReport> run_and_save(const detail::Launcher& launcher,
                                 std::span<const std::byte> functor, const std::string& folder) {
    RunReport report;
    for (;;) {
      GODWIT_TRY(const Team::Ran ran, team_->run(member_, launcher, functor));
      report.processed += ran.report.processed;
      report.rounds += ran.report.rounds;
      if (!ran.is_to_be_saved) return report;
      GODWIT_CHECK(checkpoint(folder));
      if (member_.schedule != nullptr) member_.schedule->note_saved();
    }
  }

  Status check_folds() {
    for (std::uint32_t kind = 0; kind < team_->terms().size.kinds; ++kind) {
      if (!team_->terms().kinds.reduced[kind] || member_.folds[kind]) continue;
      return break_off(fail(
          ErrorCode::invalid_argument,
          "rank {} has not said what becomes of items of kind {}: call reduce() before the first "
          "round",
          member_.rank, kind));
    }
    return {};
  }
  // Who is not in the team would wait for this rank.
  Status break_off(Status why) {
    outpost_->break_off(why.error());
    return why;
  }

  bool is_rank(Rank to) const noexcept {
    return to >= 0 && static_cast<std::uint32_t>(to) < team_->terms().size.ranks;
  }
  Result<std::unique_ptr<Loader>> make_loader(Loader::Refusals refusals) {
    GODWIT_CHECK(check_cuda(cudaSetDevice(team_->terms().device), "using the GPU"));
    return Loader::create(team_->terms(), member_.rank, member_.stream, refusals);
  }
  Status put_into_round(std::uint32_t kind, std::span<const std::byte> item, Rank to) {
    if (loader_ == nullptr) {
      GODWIT_TRY(loader_, make_loader(Loader::Refusals::of_the_round));
    }
    if (!std::exchange(is_loading_, true)) loader_->begin(begin_launch());
    member_.stream_used = true;
    return loader_->put(kind, item, to);
  }
  // Before the round ends, or kernels run on.
  Status hand_over() {
    if (emit_failure_ && std::exchange(is_loading_, false)) emit_failure_ = loader_->flush();
    return emit_failure_ ? Status() : break_off(emit_failure_);
  }

  std::unique_ptr<forward::Outpost> outpost_;  // its end tells the others that this rank is gone
  std::shared_ptr<Team> team_;
  Member& member_;
  Stopwatch stopwatch_;
  std::unique_ptr<Loader> loader_;  // for what the host emits, once it does
  bool is_loading_ = false;         // into the round under way
  Status emit_failure_;             // of CUDA, and so lasting
};

// Straight into the queues, but for what is to wait for room: that takes the way of items for ranks
// outside, if there is one.
Result<std::uint64_t> CudaPort::restore(const std::string& folder, const Replay& replay,
                                        Restoring how) {
  using godwit::detail::Chunk;
  std::unique_ptr<Loader> loader;  // once there is anything to load
  const auto put = [&](std::uint32_t kind, std::span<const std::byte> items, Rank to) -> Status {
    if (!is_rank(to)) {
      return fail(ErrorCode::invalid_argument,
                  "a saved item was routed to rank {}; there are ranks 0 to {}", to,
                  team_->terms().size.ranks - 1);
    }
    if (loader == nullptr) {
      GODWIT_TRY(loader, make_loader(Loader::Refusals::for_finish));
      loader->begin(begin_launch());
    }
    return loader->put(kind, items, to);
  };
  const Outpost::Taking taking{
      .as_it_was = [&](const Chunk& chunk, Outpost::Was was) -> Status {
        const bool waits = was == Outpost::Was::held_back && team_->terms().has_outside();
        if (waits) return outpost_->adopt(chunk, was);
        return put(chunk.kind, {chunk.items(), chunk.used}, chunk.destination);
      },
      .by_route = [&](const Chunk& chunk) -> Status {
        Status all;
        replay(chunk, [&](std::span<const std::byte> item, Rank to) {
          if (all) all = put(chunk.kind, item, to);
        });
        return all;
      },
      .finish = [&] { return loader == nullptr ? Status{} : loader->finish(); }};
  GODWIT_TRY(const std::uint64_t round, outpost_->load(folder, how, taking));
  if (round > 0) team_->number_next(member_, round);
  return round;
}

}  // namespace

namespace detail {

Result<std::unique_ptr<Port>> Port::create(Group& group, std::span<const ItemType> types,
                                           const Options& options) {
  const auto pinned = [](std::shared_ptr<forward::ChunkArena> arena) {
    return std::make_shared<PinnedArena>(std::move(arena));
  };
  GODWIT_TRY(auto outpost,
             forward::Outpost::create(group, types, outpost_options(options), pinned));
  auto team = set_up(*outpost, group, types, options);
  GODWIT_CHECK(outpost->agree(team ? Status{} : tl::unexpected(team.error())));
  auto port = std::make_unique<CudaPort>(std::move(outpost), *team, group.rank());
  // The first round has no items: it shows that all ranks are there, and that the GPU works.
  GODWIT_CHECK((*team)->advance((*team)->member(group.rank())));
  return port;
}

Result<Launcher> make_launcher(const void* kernel, std::size_t shared_bytes,
                               std::uint32_t threads) {
  constexpr const char* kWhat = "preparing a kernel";
  int device = 0;
  int processors = 0;
  int at_once = 0;
  GODWIT_CHECK(check_cuda(cudaGetDevice(&device), kWhat));
  GODWIT_CHECK(check_cuda(
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), kWhat));
  GODWIT_CHECK(check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(shared_bytes)),
                          kWhat));
  GODWIT_CHECK(check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                              &at_once, kernel, static_cast<int>(threads), shared_bytes),
                          kWhat));
  return Launcher{.kernel = kernel,
                  .shared_bytes = shared_bytes,
                  .threads = threads,
                  .blocks = static_cast<std::uint32_t>(std::max(at_once, 1) * processors)};
}

Status launch_items(const Launcher& launcher, const Queues& queues, const Crew& crew,
                    std::uint64_t items, cudaStream_t stream) {
  const std::uint64_t wanted = items / launcher.threads + crew.count;
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(wanted, launcher.blocks));
  Queues queues_copy = queues;
  Crew crew_copy = crew;
  void* arguments[] = {&queues_copy, &crew_copy};
  return check_cuda(cudaLaunchKernel(launcher.kernel, dim3(blocks), dim3(launcher.threads),
                                     arguments, launcher.shared_bytes, stream),
                    "launching functor(item, out)");
}

Status check_launch(const char* what) {
  return check_cuda(cudaGetLastError(), what);
}

}  // namespace detail
}  // namespace godwit::cuda
