// A function as a rank of an exchange: one of those that pass items of work to each other
// (docs/forward.md). The program that called opens the ranks (<godwit/fleet_exchange.hpp>).
//
//   std::uint64_t walk(godwit::Here& here, godwit::RankOf<Walker> rank) {
//     std::uint64_t steps = 0;
//     rank.run(here, [&](const Walker& walker, auto& out) {
//       ++steps;
//       const Walker next = ...;
//       if (next.is_done()) out.emit(next, out.client());   // to the program
//       else out.emit(next, next.place % out.ranks());      // to a node, maybe this one
//     });
//     return steps;
//   }
//   GODWIT_EXPORT(walk);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "godwit/kernel.hpp"
#include "godwit/mobile/here.hpp"
#include "godwit/mobile_abi.h"
#include "godwit/struct.hpp"
#include "godwit/types.hpp"

namespace godwit {

// What a program tells a function of the exchange it is to be a rank of. Checked by its node.
struct RankOrder {
  std::int32_t rank = 0;   // of the function
  std::int32_t nodes = 0;  // functions that are ranks; the program is one rank more, the last
  std::array<std::uint64_t, 2> exchange{};  // random
  std::uint64_t chunk_bytes = 0;  // from here on as ExchangeOptions, RunOptions, MeetOptions
  std::uint64_t queue_bytes = 0;
  std::uint64_t spill_bytes = 0;
  std::uint32_t workers = 0;
  std::uint32_t patience_ms = 0;
  std::uint8_t deterministic = 0;
  std::uint8_t pace = 0;
  std::uint8_t way = 0;
  std::uint8_t address_size = 0;
  std::array<std::uint8_t, 252> address{};  // where the ranks meet
};
GODWIT_STRUCT(RankOrder, rank, nodes, exchange, chunk_bytes, queue_bytes, spill_bytes, workers,
              patience_ms, deterministic, pace, way, address_size, address);

// What became of a rank.
struct RankReport {
  std::uint64_t processed = 0;  // items, here
  std::uint64_t emitted = 0;
  std::uint64_t rounds = 0;  // 0 if it went without
};
GODWIT_STRUCT(RankReport, processed, emitted, rounds);

// How a kernel hands items on. For one thread, while the kernel runs.
template <class T>
class RankOut {
 public:
  explicit RankOut(const godwit_outgoing* out) noexcept : out_(out) {}

  // An item for a node, or for client(). One that is not taken (no such rank, no room) ends the
  // exchange on all ranks.
  Emitted emit(const T& item, Rank to, Priority priority = Priority::normal) noexcept {
    const auto rank = static_cast<std::uint32_t>(to);
    if (rank > static_cast<std::uint32_t>(out_->nodes)) [[unlikely]] {
      return static_cast<Emitted>(out_->refill(out_, to, static_cast<std::uint32_t>(priority)));
    }
    godwit_cursor& cursor =
        out_->cursors[static_cast<std::size_t>(priority) * static_cast<std::size_t>(out_->stride) +
                      rank];
    if (cursor.end - cursor.at < static_cast<std::ptrdiff_t>(sizeof(T))) [[unlikely]] {
      const std::uint32_t refused = out_->refill(out_, to, static_cast<std::uint32_t>(priority));
      if (refused != 0) return static_cast<Emitted>(refused);
    }
    std::memcpy(cursor.at, &item, sizeof item);
    cursor.at += sizeof item;
    return Emitted::ok;
  }

  // This node's.
  [[nodiscard]] Rank rank() const noexcept { return out_->rank; }
  // How many ranks are nodes: they have the numbers from 0 on.
  [[nodiscard]] Rank ranks() const noexcept { return out_->nodes; }
  // The program's.
  [[nodiscard]] Rank client() const noexcept { return out_->nodes; }

 private:
  const godwit_outgoing* out_;
};

// The parameter that makes a function a rank, of an exchange of items of type T: plain
// (GODWIT_STRUCT), up to 4 KiB.
template <class T>
struct RankOf {
  static_assert(kPlain<T> && std::is_trivially_copyable_v<T>,
                "godwit: an item that goes to nodes is a struct of plain fields, registered with "
                "GODWIT_STRUCT");
  static_assert(sizeof(T) <= 4096, "godwit: items are at most 4 KiB");

  RankOrder order;
  T item{};  // none in particular: with it the function's signature says what the items are

  [[nodiscard]] Rank rank() const noexcept { return order.rank; }
  [[nodiscard]] Rank ranks() const noexcept { return order.nodes; }
  [[nodiscard]] Rank client() const noexcept { return order.nodes; }

  // [blocks] Runs kernel(item, out), or kernel(std::span<const T>, out), for all items that come
  // here, until none is left on any rank; once in a call. `out` is a RankOut<T>. The kernel may use
  // `here`. If the program asks for several workers, as many threads call the kernel at the same
  // time. What the kernel throws ends the exchange on all ranks, with its text.
  //
  // Returns 0 or a godwit::ErrorCode, the same on all ranks: invalid_argument (an item was emitted
  // to no rank), resource_exhausted (no room for one), node_lost (a rank is gone), app_error or
  // another code (of a kernel that threw), deadline, cancelled, overload (this node is as many
  // ranks as it may be), unsupported (this node is too old).
  template <class Kernel>
  [[nodiscard]] std::int32_t try_run(const Here& here, Kernel&& kernel, RankReport& report) const {
    const godwit_here_v1* const table = here.table();
    if (table->size < offsetof(godwit_here_v1, run_rank) + sizeof table->run_rank) {
      return detail::kUnsupported;
    }
    constexpr std::string_view kType = type_name<T>;
    godwit_rank_v1 rank{};
    rank.size = sizeof rank;
    rank.item_size = sizeof(T);
    rank.item_align = alignof(T);
    rank.item_type = kType.data();
    rank.item_type_size = kType.size();
    rank.order = &order;
    rank.order_size = sizeof order;
    rank.kernel = const_cast<void*>(static_cast<const void*>(&kernel));
    rank.process = &process<std::remove_reference_t<Kernel>>;
    const std::int32_t error = table->run_rank(table, &rank);
    report = {rank.processed, rank.emitted, rank.rounds};
    return error;
  }
#ifdef __cpp_exceptions
  // The same; throws CallFailed, which ends the call with that error if nobody catches it.
  template <class Kernel>
  RankReport run(const Here& here, Kernel&& kernel) const {  // NOLINT(*-missing-std-forward)
    RankReport report;
    const std::int32_t error = try_run(here, kernel, report);
    if (error != 0) {
      throw CallFailed(GODWIT_ENDED_APP_ERROR, static_cast<std::uint32_t>(error), true,
                       error == detail::kUnsupported ? "no rank of an exchange runs on this node"
                                                     : here.last_error());
    }
    return report;
  }
#endif

 private:
  template <class Kernel>
  static void call(Kernel& kernel, std::span<const T> items, RankOut<T>& out) {
    if constexpr (std::is_invocable_v<Kernel&, const T&, RankOut<T>&>) {
      for (const T& item : items) kernel(item, out);
    } else {
      kernel(items, out);
    }
  }
  template <class Kernel>
  static void process(void* kernel, const void* items, std::size_t count,
                      const godwit_outgoing* table) {
    RankOut<T> out(table);
    const std::span<const T> all(static_cast<const T*>(items), count);
#ifdef __cpp_exceptions
    const auto fail = [&](std::uint32_t reason, std::string_view text) {
      table->fail(table, reason, text.data(), text.size());
    };
    try {
      call(*static_cast<Kernel*>(kernel), all, out);
    } catch (const CallFailed& failed) {
      fail(failed.reason(), failed.what());
    } catch (const std::exception& exception) {
      fail(0, exception.what());
    } catch (...) {
      fail(0, "unknown exception");
    }
#else
    call(*static_cast<Kernel*>(kernel), all, out);
#endif
  }
};

// RankOf is a struct like those of GODWIT_STRUCT, of any T.
template <class T>
[[nodiscard]] constexpr auto godwit_struct_of(const RankOf<T>*) {
  return detail::struct_info("RankOf",
                             detail::field("order", offsetof(RankOf<T>, order), &RankOf<T>::order),
                             detail::field("item", offsetof(RankOf<T>, item), &RankOf<T>::item));
}

}  // namespace godwit
