// The functions of the ops bundle (mobile/), ready to be called.
#pragma once

#include <cstddef>
#include <cstdint>

#include "godwit/call_handle.hpp"

namespace godwit::ops {

enum class Op : std::uint8_t {
  apply,
  get_word,
  put_word,
  fetch_add,
  compare_swap,
  get,
  get_bulk,
  put,
  put_bulk,
  gather,
  gather_bulk,
  scatter,
  scatter_bulk,
  scatter_add,
  scatter_add_bulk,
  multicast,
  call_nodes,
  accumulate,
  put_if,
  compare_swap_all,
  append,
  aggregate,
  top,
  histogram,
  chase_many,
  list_find,
  list_find_many,
  tree_find,
  tree_find_many,
  tree_scan,
  hash_get,
  hash_put,
  k_hop,
  chase,
  hop,
};
inline constexpr std::size_t kOps = static_cast<std::size_t>(Op::hop) + 1;

// Whether it changes elements.
[[nodiscard]] constexpr bool is_change(Op op) noexcept {
  switch (op) {
    case Op::put_word:
    case Op::fetch_add:
    case Op::compare_swap:
    case Op::put:
    case Op::put_bulk:
    case Op::scatter:
    case Op::scatter_bulk:
    case Op::scatter_add:
    case Op::scatter_add_bulk:
    case Op::multicast:
    case Op::accumulate:
    case Op::put_if:
    case Op::compare_swap_all:
    case Op::append:
    case Op::hash_put: return true;
    default: return false;
  }
}

// The bundle they are in, part of this program. Any thread.
[[nodiscard]] const code::Bundle& operations();

// The function as that caller knows it. Lives as long as the caller. Any thread.
[[nodiscard]] call::FunctionRef& function(Op op, call::Caller& caller);

}  // namespace godwit::ops
