#include "ops/functions.hpp"

#include <array>
#include <cassert>
#include <memory>
#include <string_view>

#include "code/bundle/bundle.hpp"
#include "code/bundle/embedded.hpp"

namespace godwit::ops {
namespace {

// In the order of Op.
// clang-format off
constexpr std::array<std::string_view, kOps> kNames{
    "apply",
    "get_word",
    "put_word",
    "fetch_add",
    "compare_swap",
    "get",
    "get_bulk",
    "put",
    "put_bulk",
    "gather",
    "gather_bulk",
    "scatter",
    "scatter_bulk",
    "scatter_add",
    "scatter_add_bulk",
    "multicast",
    "call_nodes",
    "accumulate",
    "put_if",
    "compare_swap_all",
    "append",
    "aggregate",
    "top",
    "histogram",
    "chase_many",
    "list_find",
    "list_find_many",
    "tree_find",
    "tree_find_many",
    "tree_scan",
    "hash_get",
    "hash_put",
    "k_hop",
    "chase",
    "hop",
};
// clang-format on

// Part of this program, as constant as its code; parsed at first use.
struct Library {
  code::Bundle bundle;
  std::array<std::unique_ptr<detail::FunctionCode>, kOps> functions;

  Library() {
    auto parsed = code::Bundle::parse(Buffer::copy_of(embedded::ops_bundle()));
    assert(parsed && "the ops bundle of this build is broken");
    bundle = *std::move(parsed);
    for (std::size_t op = 0; op < kOps; ++op) {
      const auto index = bundle.find(kNames[op]);
      assert(index && "the ops bundle lacks a function");
      functions[op] =
          std::make_unique<detail::FunctionCode>(bundle, static_cast<std::uint32_t>(*index));
    }
  }
};

const Library& library() {
  static const Library all;
  return all;
}

}  // namespace

const code::Bundle& operations() {
  return library().bundle;
}

call::FunctionRef& function(Op op, call::Caller& caller) {
  return library().functions[static_cast<std::size_t>(op)]->known_to(caller);
}

}  // namespace godwit::ops
