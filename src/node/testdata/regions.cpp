// Mobile code for the tests of regions: what godwit's own operations are made of, by hand.
#include <godwit/mobile.hpp>
#include <godwit/mobile/std.hpp>
#include <godwit/mobile/traversal.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace regions {

void apply(godwit::Here& here, std::span<const std::byte> descriptor) {
  if (here.table()->apply_region(here.table(), descriptor.data(), descriptor.size()) != 0) {
    throw std::runtime_error(std::string(here.last_error()));
  }
}
GODWIT_EXPORT(apply);

std::int32_t apply_inline(godwit::Here& here, std::span<const std::byte> descriptor) {
  return here.table()->apply_region(here.table(), descriptor.data(), descriptor.size());
}
GODWIT_EXPORT(apply_inline, inline_);

// Follows a list across nodes: goes to the owner, and the last node answers the first caller.
godwit::Next<std::uint64_t> chase(godwit::Here& here, std::uint64_t at, std::uint32_t hops) {
  auto list = here.region<std::uint64_t>("list");  // missing: app_error at the caller
  while (hops > 0 && list.owns(at)) {
    at = list[at];
    --hops;
  }
  if (hops == 0) return at;
  return here.continue_at<chase>(list.owner(at), at, hops);  // Next<T>: a value, or a hop
}
GODWIT_EXPORT(chase);

godwit::Next<std::uint64_t> chase_inline(godwit::Here& here, std::uint64_t at, std::uint32_t hops) {
  auto list = here.region<std::uint64_t>("list");
  while (hops > 0 && list.owns(at)) {
    at = list[at];
    --hops;
  }
  if (hops == 0) return at;
  return here.continue_at<chase_inline>(list.owner(at), at, hops);
}
GODWIT_EXPORT(chase_inline, inline_);

// Makes this node's part of `name` what the test's model says: element i points at i * 5 + 3.
std::uint64_t fill(godwit::Here& here, std::string_view name) {
  const auto list = here.writable_region<std::uint64_t>(name);
  const std::span<std::uint64_t> local = list.local();
  for (std::size_t offset = 0; offset < local.size(); ++offset) {
    local[offset] = (list.index_of(offset) * 5 + 3) % list.size();
  }
  return local.size();
}
GODWIT_EXPORT(fill);

std::uint64_t sum(godwit::Here& here, std::string_view name) {
  std::uint64_t sum = 0;
  for (const std::uint64_t value : here.region<std::uint64_t>(name).local()) sum += value;
  return sum;
}
GODWIT_EXPORT(sum);

double sum_as_double(godwit::Here& here, std::string_view name) {
  double sum = 0;
  for (const double value : here.region<double>(name).local()) sum += value;
  return sum;
}
GODWIT_EXPORT(sum_as_double);

std::uint64_t add_to(godwit::Here& here, std::string_view name, std::uint64_t index,
                     std::uint64_t value) {
  return here.writable_region<std::uint64_t>(name).atomic(index).fetch_add(value);
}
GODWIT_EXPORT(add_to, inline_);

std::vector<std::uint64_t> owners(godwit::Here& here, std::string_view name) {
  const auto list = here.region<std::uint64_t>(name);
  std::vector<std::uint64_t> nodes;
  for (std::uint32_t shard = 0; shard < list.map().shards(); ++shard) {
    nodes.push_back(list.owner(list.map().index_at({shard, 0})).id);
  }
  return nodes;
}
GODWIT_EXPORT(owners);

// Keeps a view until the region is gone, and still reads through it. Adds 1 to show that it has it.
std::uint64_t sum_once_dropped(godwit::Here& here, std::string_view name) {
  const auto list = here.writable_region<std::uint64_t>(name);
  list.atomic(list.index_of(0)).fetch_add(1);
  godwit_region_v1 region;
  while (here.try_region<std::uint64_t>(name, GODWIT_REGION_READ, region) == 0) {
    if (here.cancelled()) throw std::runtime_error("nobody dropped it");
    std::this_thread::yield();
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t value : list.local()) sum += value;
  return sum;
}
GODWIT_EXPORT(sum_once_dropped);

// A search of its own, made of godwit's steps.
godwit::Next<godwit::ops::Search> find_for(godwit::Here& here, std::uint64_t region,
                                           godwit::ops::Search search) {
  const auto list = here.region<godwit::ops::ListNode>(region);
  while (godwit::ops::step(list, search)) {
  }
  if (!godwit::ops::is_under_way(search)) return search;
  return here.continue_at<find_for>(list.owner(search.at), region, search);
}
GODWIT_EXPORT(find_for);

}  // namespace regions
