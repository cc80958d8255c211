// cuda::Exchange: work items that migrate between ranks on a GPU. It reads as godwit::Exchange
// does, and runs the same functors, compiled by nvcc.
//
//   auto exchange = godwit::cuda::Exchange<Ray>::create(group, {.device = 0}).value();
//   exchange.launch(pixels, Shoot{camera}).value();       // functor(index, out), on the GPU; or
//   exchange.emit(ray, scene.owner(ray));                 // from the host, one by one
//   auto report = exchange.run(March{scene});             // functor(item, out), until none is left
//
// or round by round, with a kernel of one's own:
//
//   while (exchange.advance().value().alive > 0)
//     trace<<<grid, block, 0, exchange.stream()>>>(exchange.device(), scene);
//
// Ranks are the members of a Group, threads, processes, or both. Those of one host that share a GPU
// are a team: items between them are written straight into their destination's queue in the GPU's
// memory, whoever emits them, and advance() moves nothing. Other members may be on other GPUs or
// hosts, or make a godwit::Exchange with the same item types and run the same functors on a CPU. To
// them items are copied when a round ends: from GPU to GPU between threads of one run_ranks() or
// Group::threads(), else through pinned memory of the host, and on by threads, shared memory or the
// network, whichever leads there.
//
// With members outside its team a rank goes through rounds together with all of them, and
//   - an item that could not be taken ends the exchange, on all ranks;
//   - what exceeds half of queue_bytes on arrival waits in the host's memory for the next round;
//   - the exchange is not deterministic (else unsupported, on all ranks, before anything moves).
//
// Threads: an Exchange belongs to the thread that is its rank. Every rank makes it, in the same
// order and with the same item types, and calls advance() and run() in the same order: they wait
// for each other, at most Options::patience.
//
// Errors: items that could not be taken are told by the next advance() or run(): invalid_argument
// for a rank that does not exist, resource_exhausted for lack of room. node_lost: a rank left or
// died; the exchange is over then, on all ranks. Errors of CUDA itself are `internal`, and last.
// The rank's GPU must be the one that its thread uses (cudaSetDevice) when it launches or calls.
//
// Functors are trivially copyable and are copied to the GPU for every call. In a process, run() of
// all ranks is one launch per round.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/cuda/device_view.cuh"
#include "godwit/cuda/options.hpp"
#include "godwit/detail/forward/cuda/port.cuh"
#include "godwit/detail/forward/cuda/process.cuh"
#include "godwit/detail/forward/incoming.hpp"
#include "godwit/detail/forward/kept.hpp"
#include "godwit/error.hpp"
#include "godwit/exchange_options.hpp"
#include "godwit/group.hpp"
#include "godwit/items.hpp"

namespace godwit::cuda {

template <class... Items>
class Exchange {
  static_assert(sizeof...(Items) >= 1 && sizeof...(Items) <= detail::kMaxKinds,
                "godwit: a cuda::Exchange has 1 to 8 item types");
  static_assert(((godwit::detail::ItemTraits<Items>::kForm != godwit::detail::ItemForm::tailed) &&
                 ...),
                "godwit: items with tails do not travel between GPUs");
  using Shape = detail::BlockShape<Items...>;
  using Layout = detail::StageLayout<Shape>;

 public:
  using View = DeviceView<Items...>;

  // Waits for all ranks of the group. unsupported: no such GPU, more than 64 ranks, or a
  // deterministic exchange of ranks that do not all share a GPU. out_of_memory: the GPU has less
  // than asked for. type_mismatch: ranks differ in item types, or in whether it is deterministic.
  [[nodiscard]] static Result<Exchange> create(Group& group, const Options& options = {}) {
    godwit::detail::check_item_types<Items...>();
    static constexpr std::array types{godwit::detail::item_type<Items>()...};
    auto port = detail::Port::create(group, types, options);
    if (!port) return tl::unexpected(port.error());
    return Exchange(std::move(*port), group);
  }

  // Runs functor(index, out) for every index below `count` on the GPU, as this rank: how items come
  // into being.
  template <class Functor>
  [[nodiscard]] Status launch(std::uint64_t count, const Functor& functor) {
    check_functor<Functor>();
    if (count == 0) return {};
    auto launcher = launcher_of(detail::process_indices<Functor, Items...>);
    if (!launcher) return tl::unexpected(launcher.error());
    const detail::Queues queues = port_->begin_launch();
    const std::uint64_t wanted = (count + Shape::kThreads - 1) / Shape::kThreads;
    const auto blocks =
        static_cast<unsigned>(wanted < launcher->blocks ? wanted : launcher->blocks);
    detail::process_indices<Functor, Items...>
        <<<blocks, Shape::kThreads, launcher->shared_bytes, port_->stream()>>>(queues, functor,
                                                                               rank_, count);
    return detail::check_launch("functor(index, out)");
  }

  // An item of the host's joins the round, as if this rank had emitted it from a kernel. It is
  // copied at once, and sent to the GPU with others, a megabyte at a time. A rank that does not
  // exist is told here, too; lack of room only by the next advance() or run(). Emitted::full: CUDA
  // failed, and they say how. For a few; millions are better made where they are to be (launch()).
  template <class T>
  Emitted emit(const T& item, Rank to, Priority = Priority::normal) {
    return port_->put(detail::checked_kind<T, Items...>(), std::as_bytes(std::span(&item, 1)), to);
  }

  // Says what becomes of items of a Reduced kind: fold(item), on the GPU, by many threads at once,
  // before the kernels of the next round. Every rank says it before the first advance() or run().
  template <class T, class FoldOne>
  void reduce(const FoldOne& fold) {
    constexpr std::uint32_t kKind = detail::checked_kind<T, Items...>();
    port_->set_fold(
        kKind, [fold](const detail::Queues& queues, std::uint32_t bin, cudaStream_t stream) {
          detail::fold_items<T, FoldOne><<<kFoldBlocks, 256, 0, stream>>>(queues, fold, bin);
        });
  }

  // Ends the round: all that was emitted is incoming at its destination; what was incoming is gone.
  // Waits for this rank's stream and for the other ranks.
  [[nodiscard]] Result<Round> advance() { return port_->advance(); }

  // Runs functor(item, out) for every incoming item of a kind that is not reduced. Does not wait.
  template <class Functor>
  [[nodiscard]] Status process(const Functor& functor) {
    check_functor<Functor>();
    auto launcher = launcher_of(detail::process_items<Functor, Items...>);
    if (!launcher) return tl::unexpected(launcher.error());
    return port_->process(*launcher, std::as_bytes(std::span(&functor, 1)));
  }

  // Runs the functor for every item until none is left on any rank. What was incoming and not yet
  // processed is processed first. The pace is by rounds, whatever the options say; with a
  // checkpoint_folder they save all ranks' items from time to time, which costs rounds between two
  // checkpoints nothing.
  template <class Functor>
  [[nodiscard]] Result<RunReport> run(const Functor& functor, const RunOptions& options = {}) {
    check_functor<Functor>();
    auto launcher = launcher_of(detail::process_items<Functor, Items...>);
    if (!launcher) return tl::unexpected(launcher.error());
    return port_->run(*launcher, std::as_bytes(std::span(&functor, 1)), options);
  }

  // Saves all items of all ranks to a folder, with what they keep(), as godwit::Exchange does:
  // files are the same wherever ranks are, so that a checkpoint made on GPUs is gone on with on
  // CPUs, by other ranks or teams, and the other way round. All ranks call it right after
  // advance(), before anything is launched (else invalid_argument). Waits for this rank's stream;
  // items are copied to the host a few MiB at a time. An error leaves the exchange usable, and the
  // folder with its former checkpoint.
  [[nodiscard]] Status checkpoint(const std::string& folder) { return port_->checkpoint(folder); }

  // What this rank has computed so far goes into checkpoints with the items, as with
  // godwit::Exchange: a trivially copyable struct, or an array or a vector of them, in the host's
  // memory, which stays the caller's. All ranks keep the same things, in the same order.
  template <class State>
  void keep(State& state) {
    port_->keep(godwit::detail::kept_state(state, rank_));
  }
  template <class State, class Merge>
    requires(!std::is_invocable_v<State&>)
  void keep(State& state, Merge merge) {
    port_->keep(
        godwit::detail::kept_state(state, std::move(merge), godwit::detail::Merging::yes, rank_));
  }
  // Anything else, such as what lies in the GPU's memory: save() returns it as a string or a vector
  // of bytes, when all kernels of the round have ended, folds too; load(bytes, was) gets, on some
  // rank, what the one that was rank `was` had saved. It may launch().
  template <class Save, class Load>
    requires std::is_invocable_v<Save&>
  void keep(Save save, Load load) {
    port_->keep(godwit::detail::kept_by(std::move(save), std::move(load)));
  }

  // Goes on from the checkpoint in a folder, if there is one, as godwit::Exchange does; returns the
  // number of its round, or 0. All ranks call it, before they launch anything. `route(item, was)`
  // runs on the host. With as many ranks as before items are where they were; in the order they
  // had if the exchange is deterministic. Items that waited for room wait on beside ranks that do
  // not share the GPU; where all do, they must have room now.
  //
  // resource_exhausted: the queues have no room for the items (Options::queue_bytes, spill_bytes).
  // invalid_argument: the route leads to no rank. Others as godwit::Exchange. After an error some
  // of it may have been loaded: the exchange is no good then.
  template <class Route>
  [[nodiscard]] Result<std::uint64_t> resume(const std::string& folder, const Route& route) {
    return port_->restore(folder, replay_with(route), detail::Port::Restoring::if_any);
  }
  [[nodiscard]] Result<std::uint64_t> resume(const std::string& folder) {
    return resume(folder, [this](const auto&, Rank was) { return was % ranks_; });
  }
  // The same, but `route` is asked for every item, on any number of ranks, and there must be a
  // checkpoint (not_found).
  template <class Route>
  [[nodiscard]] Result<std::uint64_t> restore(const std::string& folder, const Route& route) {
    return port_->restore(folder, replay_with(route), detail::Port::Restoring::by_route);
  }
  [[nodiscard]] Result<std::uint64_t> restore(const std::string& folder) {
    return restore(folder, [this](const auto&, Rank was) { return was % ranks_; });
  }

  // Writes what all ranks did, and when, to one file that Perfetto and chrome://tracing open
  // (Options::trace_events), CPU ranks' too. Kernels of process() are as long as the GPU took for
  // them; in run(), which launches for all ranks together, there is a span for each round. Kernels
  // of one's own are not seen. All ranks call it between rounds; rank 0 writes.
  [[nodiscard]] Status save_trace(const std::string& path) { return port_->save_trace(path); }

  // For one launch of a kernel of one's own on stream(): this round's queues. Valid until the next
  // advance(). Whoever asks for it processes the incoming items himself.
  [[nodiscard]] View device() {
    port_->mark_processed();
    return View(port_->begin_launch(), rank_);
  }
  [[nodiscard]] cudaStream_t stream() noexcept { return port_->give_stream(); }
  // This round's incoming items of one kind.
  template <class T>
  [[nodiscard]] std::uint64_t incoming_count() const noexcept {
    return port_->incoming(detail::checked_kind<T, Items...>());
  }

  // The same items, copied to the host. Waits for what is on stream().
  template <class T>
  [[nodiscard]] Result<std::vector<T>> copy_incoming() {
    constexpr std::uint32_t kKind = detail::checked_kind<T, Items...>();
    std::vector<T> items(port_->incoming(kKind));
    Status copied = port_->copy_incoming(
        kKind, reinterpret_cast<std::byte*>(items.data()));  // trivially copyable: create() checks
    if (!copied) return tl::unexpected(std::move(copied).error());
    return items;
  }

  [[nodiscard]] ExchangeStatus status() const noexcept { return port_->status(); }
  [[nodiscard]] Rank rank() const noexcept { return rank_; }
  [[nodiscard]] Rank ranks() const noexcept { return ranks_; }

 private:
  template <class Functor>
  static constexpr void check_functor() {
    static_assert(std::is_trivially_copyable_v<Functor> &&
                      sizeof(Functor) <= detail::kMaxFunctorBytes && alignof(Functor) <= 256,
                  "godwit: a functor is sent to the GPU as memory, at most 4 KiB of it: give it "
                  "pointers to what lies there already");
  }

  static constexpr unsigned kFoldBlocks = 264;  // two for each multiprocessor of a large GPU

  Exchange(std::unique_ptr<detail::Port> port, const Group& group)
      : port_(std::move(port)), rank_(group.rank()), ranks_(group.ranks()) {}

  // Hands the items of a saved chunk to the port, with where they go.
  struct Replayer {
    const detail::Port::Put& put;
    template <class T>
    void emit(const T& item, Rank to, Priority) {
      put(std::as_bytes(std::span(&item, 1)), to);
    }
  };
  template <class Route>
  static detail::Port::Replay replay_with(const Route& route) {
    return [&route](const godwit::detail::Chunk& chunk, const detail::Port::Put& put) {
      Replayer out{put};
      std::uint32_t kind = 0;
      (godwit::detail::replay_chunk<Items>(kind++, chunk, route, out), ...);
    };
  }

  // Found out once for each kernel.
  template <class Function>
  [[nodiscard]] Result<detail::Launcher> launcher_of(Function* kernel) {
    const auto* const address = reinterpret_cast<const void*>(kernel);
    for (const detail::Launcher& known : launchers_) {
      if (known.kernel == address) return known;
    }
    const std::size_t bins = sizeof...(Items) * static_cast<std::size_t>(ranks_);
    auto made = detail::make_launcher(address, Layout::bytes(bins), Shape::kThreads);
    if (made) launchers_.push_back(*made);
    return made;
  }

  std::unique_ptr<detail::Port> port_;
  std::vector<detail::Launcher> launchers_;
  Rank rank_;
  Rank ranks_;
};

}  // namespace godwit::cuda
