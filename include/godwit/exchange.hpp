// Exchange: work items that migrate between ranks. A kernel processes this rank's items and emits
// new ones to any rank; the exchange moves them.
//
//   auto exchange = godwit::Exchange<Particle>::create(group).value();
//   for (const Particle& seed : seeds) exchange.emit(seed, field.owner(seed));
//   auto report = exchange.run(Advect{field});            // until no particle is left anywhere
//
// or round by round, with a loop of one's own:
//
//   while (exchange.advance().value().alive > 0) exchange.process(Advect{field});
//
// Threads: an Exchange belongs to the thread that is its rank; kernels get an Emitter of their own.
// Every rank of the group makes it, in the same order and with the same item types, and calls
// advance() and run() in the same order: they wait for each other, at most
// ExchangeOptions::patience.
//
// Errors: an item that cannot be taken (no such rank, no room) is told by emit(), and loudly by the
// next advance() or run(); try_emit() leaves it to the caller. node_lost: a rank left or died; the
// exchange is over then, on all ranks. deadline: a rank did not come within the patience.
//
// Ranks of the group may make a godwit::cuda::Exchange with the same items instead: then items go
// to and from a GPU. run() goes by rounds then, whatever the pace. Checkpoints are of all ranks,
// and are gone on with wherever ranks are then.
//
// Cost: emitting writes the item once, into the chunk that is handed to its rank; between threads
// of one process nothing is copied after that. Items for the own rank take the same way, without
// leaving.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "godwit/detail/forward/emitter.hpp"
#include "godwit/detail/forward/incoming.hpp"
#include "godwit/detail/forward/kept.hpp"
#include "godwit/detail/forward/port.hpp"
#include "godwit/error.hpp"
#include "godwit/exchange_options.hpp"
#include "godwit/group.hpp"
#include "godwit/items.hpp"
#include "godwit/kernel.hpp"

namespace godwit {

template <class... Items>
class Exchange {
 public:
  using Out = Emitter<Items...>;

  // Waits for all ranks of the group. type_mismatch: ranks name different item types, options
  // that must agree differ.
  [[nodiscard]] static Result<Exchange> create(Group& group, const ExchangeOptions& options = {}) {
    detail::check_item_types<Items...>();
    static constexpr std::array types{detail::item_type<Items>()...};
    auto port = detail::Port::create(group, types, options);
    if (!port) return tl::unexpected(port.error());
    return Exchange(std::move(*port), group, options);
  }

  // Takes an item for a rank; it is there after the next advance(), or during run().
  template <class T>
  Emitted emit(const T& item, Rank to, Priority priority = Priority::normal) {
    return emitters_.front().emit(item, to, priority);
  }
  // An item with a tail.
  template <class Head, class Element>
  Emitted emit(const Head& head, std::span<const Element> tail, Rank to,
               Priority priority = Priority::normal) {
    return emitters_.front().emit(head, tail, to, priority);
  }
  // The same, but an item that is not taken is the caller's to keep: nothing else tells of it.
  template <class T>
  [[nodiscard]] Emitted try_emit(const T& item, Rank to, Priority priority = Priority::normal) {
    return emitters_.front().try_emit(item, to, priority);
  }

  // Says what becomes of items of a Reduced kind: fold(item), on this rank's thread, before or
  // between kernels. Every rank says it before the first advance() or run().
  template <class T, class FoldOne>
  void reduce(FoldOne fold) {
    constexpr std::uint32_t kind = detail::kind_of<T, Items...>();
    static_assert(kind < sizeof...(Items), "godwit: no such item type in this Exchange");
    static_assert(detail::TraitsOf<kind, Items...>::kForm == detail::ItemForm::reduced,
                  "godwit: only items of a Reduced<T> are folded; a kernel gets the others");
    static_assert(std::is_invocable_v<FoldOne&, const T&>,
                  "godwit: a fold is called as fold(const T& item)");
    port_->set_fold(kind, [fold = std::move(fold)](const detail::Chunk& chunk) mutable {
      for (const T& item : detail::items_of<T>(chunk)) fold(item);
    });
  }

  // Ends the round: all that was emitted moves; what was incoming is gone.
  [[nodiscard]] Result<Round> advance() { return port_->advance(); }
  // This round's items of one kind; valid until the next advance() or run().
  template <class T>
  [[nodiscard]] Incoming<T, Items...> incoming() const {
    return Incoming<T, Items...>(port_->incoming());
  }
  // Runs kernel(item, out) for every incoming item, of every kind that is not reduced.
  template <class Kernel>
  void process(const Kernel& kernel) {
    port_->process_incoming(process_with(kernel));
  }
  // Runs the kernel for every item that was emitted, and for those it emits, until none is left on
  // any rank. (What advance() brought before is process()'s.)
  template <class Kernel>
  [[nodiscard]] Result<RunReport> run(const Kernel& kernel, Pace pace = Pace::free) {
    return run(kernel, RunOptions{.pace = pace});
  }
  template <class Kernel>
  [[nodiscard]] Result<RunReport> run(const Kernel& kernel, const RunOptions& options) {
    return port_->run(process_with(kernel), options);
  }

  // Saves all items of all ranks to a folder that all of them see, with what they keep(); what was
  // saved there before is replaced when the new one is whole, however ranks or machines end
  // meanwhile. All ranks call it, right after advance(), before items are processed or emitted
  // (else invalid_argument). RunOptions::checkpoint_folder does it during a run. An error leaves
  // the exchange usable, and the folder with its former checkpoint.
  [[nodiscard]] Status checkpoint(const std::string& folder) { return port_->checkpoint(folder); }

  // What this rank has computed so far goes into checkpoints with the items: a trivially copyable
  // struct, or an array or a vector of them. It stays the caller's, who leaves it where it is: it
  // is read at every checkpoint, and written by resume() and restore(). All ranks keep the same
  // things, in the same order, before the first checkpoint or resume().
  //
  // With another number of ranks `mine = merge(mine, theirs)` makes one of what several kept,
  // element by element; if there are more ranks now, some get nothing, and theirs stays as it is.
  // Without it another number of ranks is refused (invalid_argument).
  template <class State>
  void keep(State& state) {
    port_->keep(detail::kept_state(state, rank()));
  }
  template <class State, class Merge>
    requires(!std::is_invocable_v<State&>)
  void keep(State& state, Merge merge) {
    port_->keep(detail::kept_state(state, std::move(merge), detail::Merging::yes, rank()));
  }
  // Anything else: save() returns it as a string or a vector of bytes; load(bytes, was) gets, on
  // some rank, what the one that was rank `was` had saved. It may emit items.
  template <class Save, class Load>
    requires std::is_invocable_v<Save&>
  void keep(Save save, Load load) {
    port_->keep(detail::kept_by(std::move(save), std::move(load)));
  }

  // Goes on from the checkpoint in a folder, if there is one: the next advance() or run() brings
  // its items, as the round that was saved, and what ranks keep() is as it was then. Returns the
  // number of that round; 0 if nothing is saved there, and the program begins at the beginning. All
  // ranks call it, before they emit.
  //
  // With as many ranks as before, all is where it was, and in that order. With another number
  // `route(item, rank)` says where each item goes now, and is told where it was; without it, there
  // (modulo the ranks there are).
  //
  // type_mismatch: other items, or kept things, are saved there; bad_format: damaged. After an
  // error some of it may have been loaded: the exchange is no good then.
  template <class Route>
  [[nodiscard]] Result<std::uint64_t> resume(const std::string& folder, const Route& route) {
    return port_->restore(folder, replay_with(route), detail::Port::Restoring::if_any);
  }
  [[nodiscard]] Result<std::uint64_t> resume(const std::string& folder) {
    return resume(folder, [this](const auto&, Rank was) { return was % ranks(); });
  }
  // The same, but `route` is asked for every item, on any number of ranks, and there must be a
  // checkpoint (not_found).
  template <class Route>
  [[nodiscard]] Result<std::uint64_t> restore(const std::string& folder, const Route& route) {
    return port_->restore(folder, replay_with(route), detail::Port::Restoring::by_route);
  }
  [[nodiscard]] Result<std::uint64_t> restore(const std::string& folder) {
    return restore(folder, [this](const auto&, Rank was) { return was % ranks(); });
  }

  // Writes what all ranks did, and when, to one file that Perfetto and chrome://tracing open
  // (ExchangeOptions::trace_events). All ranks call it between rounds; rank 0 writes. Ranks on
  // hosts with different clocks are not brought together.
  [[nodiscard]] Status save_trace(const std::string& path) { return port_->save_trace(path); }

  [[nodiscard]] Rank rank() const noexcept { return emitters_.front().rank(); }
  [[nodiscard]] Rank ranks() const noexcept { return emitters_.front().ranks(); }
  [[nodiscard]] ExchangeStatus status() const { return port_->status(); }

 private:
  Exchange(std::unique_ptr<detail::Port> port, const Group& group, const ExchangeOptions& options)
      : port_(std::move(port)) {
    for (std::size_t worker = 0; worker < options.workers; ++worker) {
      emitters_.emplace_back(*port_, worker, group.rank(), group.ranks());
    }
  }

  template <class Kernel>
  detail::Port::Process process_with(const Kernel& kernel) {
    return [this, &kernel](const detail::Chunk& chunk, std::size_t worker) {
      std::uint32_t kind = 0;
      (detail::process_chunk<Items>(kind++, chunk, kernel, emitters_[worker]), ...);
    };
  }

  template <class Route>
  detail::Port::Replay replay_with(const Route& route) {
    return [this, &route](const detail::Chunk& chunk) {
      std::uint32_t kind = 0;
      (detail::replay_chunk<Items>(kind++, chunk, route, emitters_.front()), ...);
    };
  }

  std::unique_ptr<detail::Port> port_;
  std::vector<Out> emitters_;  // one per worker
};

}  // namespace godwit
