// Mobile code that uses the operations of its node, and functions of other bundles, for the tests.
#include <godwit/mobile.hpp>
#include <godwit/mobile/movement_ops.hpp>
#include <godwit/mobile/node_multicast.hpp>
#include <godwit/mobile/search_ops.hpp>
#include <godwit/mobile/std.hpp>
#include <godwit/mobile/update_ops.hpp>
#include <godwit/mobile/watch.hpp>

namespace mobile_ops {

using godwit::Here;
namespace ops = godwit::ops;

using Words = std::span<const std::uint64_t>;

// What docs/ops.md shows: appends to a log, puts if nobody was there before, and reads it all.
std::uint64_t tour(Here& here, std::string_view log_name, std::uint32_t shard,
                   std::string_view words_name, Words indices) {
  const ops::LogView<std::uint64_t> log(here, log_name);
  const auto words = here.region<std::uint64_t>(words_name);
  const std::uint64_t at = log.append(here, shard, 7).get();
  if (ops::put_if(here, words, indices[0], 0, at + 1).get() != 0) return 0;
  std::uint64_t sum = 0;
  for (const std::uint64_t word : ops::gather(here, words, indices)) sum += word;
  return sum;
}
GODWIT_EXPORT(tour);

std::uint64_t append(Here& here, std::string_view name, std::uint32_t shard, Words values) {
  return ops::LogView<std::uint64_t>(here, name).append(here, shard, values).get();
}
GODWIT_EXPORT(append);

std::uint64_t put_if(Here& here, std::string_view name, std::uint64_t index, std::uint64_t expected,
                     std::uint64_t desired) {
  return ops::put_if(here, here.region<std::uint64_t>(name), index, expected, desired).get();
}
GODWIT_EXPORT(put_if);

std::uint64_t accumulate(Here& here, std::string_view name, std::uint64_t index, std::uint32_t join,
                         std::uint64_t value) {
  return ops::accumulate(here, here.region<std::uint64_t>(name), index,
                         static_cast<ops::Join>(join), value)
      .get();
}
GODWIT_EXPORT(accumulate);

std::vector<std::uint64_t> swap_all(Here& here, std::string_view name, Words indices,
                                    Words expected, Words desired) {
  std::vector<ops::Swap<std::uint64_t>> swaps;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    swaps.push_back({indices[i], expected[i], desired[i]});
  }
  return ops::compare_swap_all(here, here.region<std::uint64_t>(name), swaps).get();
}
GODWIT_EXPORT(swap_all);

std::vector<std::uint64_t> gather(Here& here, std::string_view name, Words indices) {
  return ops::gather(here, here.region<std::uint64_t>(name), indices);
}
GODWIT_EXPORT(gather);

void scatter_add(Here& here, std::string_view name, Words indices, Words values) {
  ops::scatter_add(here, here.region<std::uint64_t>(name), indices, values);
}
GODWIT_EXPORT(scatter_add);

void multicast(Here& here, std::string_view name, std::uint64_t offset, Words values) {
  ops::multicast(here, here.region<std::uint64_t>(name), offset, values);
}
GODWIT_EXPORT(multicast);

std::optional<std::uint64_t> table_put(Here& here, std::string_view name, std::uint64_t key,
                                       std::uint64_t value) {
  return ops::hash_put(here, here.region<ops::HashSlot>(name), key, value).get();
}
GODWIT_EXPORT(table_put);

std::optional<std::uint64_t> table_get(Here& here, std::string_view name, std::uint64_t key) {
  return ops::hash_get(here, here.region<ops::HashSlot>(name), key).get();
}
GODWIT_EXPORT(table_get);

std::optional<std::uint64_t> tree_get(Here& here, std::string_view name, std::uint64_t key) {
  const auto found = ops::find(here, here.region<ops::TreeNode>(name), key);
  if (!found) return std::nullopt;
  return found->value;
}
GODWIT_EXPORT(tree_get);

// The larger of what lies there and `value`, wherever it lies: inline_ code may start operations.
void raise(Here& here, std::string_view name, std::uint64_t index, std::uint64_t value) {
  const auto words = here.region<std::uint64_t>(name);
  const std::uint64_t region = words.id();
  const godwit::ShardPlace place = words.map().locate(index);
  using Function = std::uint64_t(std::uint64_t, std::uint32_t, std::uint64_t, std::uint32_t,
                                 std::uint32_t, std::uint64_t);
  here.one_way(ops::operation<Function>(here, "accumulate"), words.owner(index), region,
               place.shard, place.offset, static_cast<std::uint32_t>(ops::Number::u64),
               static_cast<std::uint32_t>(ops::Join::max), value);
}
GODWIT_EXPORT(raise, inline_);

using Add = std::uint64_t(std::uint64_t, std::uint64_t);

// A function of another bundle, at whatever node.
std::uint64_t add_by(Here& here, godwit::CodeId code, std::uint64_t node, std::uint64_t a,
                     std::uint64_t b) {
  return here.call(here.function<Add>(code, "add"), godwit::Node{node}, a, b).get();
}
GODWIT_EXPORT(add_by);

// Asks for it as something that it is not.
double add_wrongly(Here& here, godwit::CodeId code) {
  return here.call(here.function<double(double)>(code, "add"), here.self(), 0.5).get();
}
GODWIT_EXPORT(add_wrongly);

void find_nothing(Here& here, godwit::CodeId code) {
  static_cast<void>(here.function<Add>(code, "no_such_function"));
}
GODWIT_EXPORT(find_nothing);

std::uint32_t find_inline(Here& here, godwit::CodeId code) {
  godwit::FunctionRef<Add> add;
  return static_cast<std::uint32_t>(here.try_function(code, "add", add));
}
GODWIT_EXPORT(find_inline, inline_);

// --- Watches ------------------------------------------------------------------------------------

std::uint64_t react(Here& here, ops::Element at, std::uint64_t value, std::uint64_t factor) {
  if (!here.region<std::uint64_t>(at.region).owns(at.index)) return 0;  // runs at the home
  return value * factor;
}
GODWIT_EXPORT(react);

std::uint64_t react_inline(Here&, ops::Element, std::uint64_t value) {
  return value;
}
GODWIT_EXPORT(react_inline, inline_);

std::int32_t react_small(Here&, ops::Element, std::int8_t value) {
  return value;
}
GODWIT_EXPORT(react_small);

std::uint64_t react_bytes(Here&, ops::Element, std::uint64_t, std::span<const std::byte> bytes) {
  return bytes.size();
}
GODWIT_EXPORT(react_bytes, inline_);

std::uint64_t watch_from(Here& here, std::string_view name, std::uint64_t index,
                         std::uint64_t last_seen, std::uint64_t factor) {
  const auto words = here.region<std::uint64_t>(name);
  return ops::watch<react>(here, words, {.index = index, .last_seen = last_seen}, factor).get();
}
GODWIT_EXPORT(watch_from);

// Stores, and stays until another element says that it may go.
void store_and_stay(Here& here, std::string_view name, std::uint64_t index, std::uint64_t stop) {
  const auto words = here.writable_region<std::uint64_t>(name);
  words.put(index, 1);
  while (words[stop] == 0 && !here.cancelled() && here.remaining_ns() > 0) {
  }
}
GODWIT_EXPORT(store_and_stay);

// --- Multicasts to nodes ------------------------------------------------------------------------

void note_visit(Here& here, std::string_view name, std::uint64_t value) {
  const auto words = here.writable_region<std::uint64_t>(name);
  words.atomic(words.index_of(0)).fetch_add(value);
}
GODWIT_EXPORT(note_visit);

void fail_where(Here& here, std::uint64_t node) {
  if (here.self().id == node) ops::refuse(ops::kInvalidArgument, "no wish to");
}
GODWIT_EXPORT(fail_where);

std::uint64_t multicast_from(Here& here, std::string_view name, std::uint64_t value) {
  std::vector<godwit::Node> nodes(here.nodes({}));
  nodes.resize(here.nodes(nodes));
  return ops::multicast<note_visit>(here, nodes, name, value).size();
}
GODWIT_EXPORT(multicast_from);

}  // namespace mobile_ops
