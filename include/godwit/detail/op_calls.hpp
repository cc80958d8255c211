// The untyped side of operations on regions: what the templates of godwit/ops/ are made of.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "godwit/codec.hpp"
#include "godwit/detail/region_handle.hpp"
#include "godwit/export.hpp"
#include "godwit/function.hpp"
#include "godwit/future.hpp"
#include "godwit/ops/mechanism.hpp"
#include "godwit/ops/parts.hpp"

namespace godwit::detail {

// What a call is about, for its failures: `what` is a constant.
struct OpSubject {
  const char* what = "";
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint32_t shard = 0;                // where it is sent
  const godwit_change* change = nullptr;  // the function begins then
  std::chrono::nanoseconds at_most{};     // 0: as any call
};

// --- Functions of the ops bundle; what they are given has been checked ---
[[nodiscard]] GODWIT_API CallHandle start_aggregate(const RegionHandle& region, const char* what,
                                                    ops::Number number, std::uint64_t at_least,
                                                    std::uint64_t at_most);
[[nodiscard]] GODWIT_API CallHandle start_top(const RegionHandle& region, ops::Number number,
                                              std::uint32_t k);
[[nodiscard]] GODWIT_API CallHandle start_histogram(const RegionHandle& region, ops::Number number,
                                                    std::uint64_t low, std::uint64_t high,
                                                    std::uint32_t buckets);
[[nodiscard]] GODWIT_API CallHandle start_accumulate(const RegionHandle& region,
                                                     std::uint64_t index, ops::Number number,
                                                     ops::Join join, std::uint64_t operand);
[[nodiscard]] GODWIT_API CallHandle start_put_if(const RegionHandle& region, std::uint64_t index,
                                                 std::uint32_t from, Blob expected, Blob desired);
[[nodiscard]] GODWIT_API CallHandle start_compare_swap_all(const RegionHandle& region,
                                                           std::span<const std::uint64_t> indices,
                                                           Blob expected, Blob desired);
[[nodiscard]] GODWIT_API CallHandle start_append(const RegionHandle& records,
                                                 const RegionHandle& counts, std::uint32_t shard,
                                                 Blob elements);
[[nodiscard]] GODWIT_API CallHandle start_multicast(const RegionHandle& region,
                                                    std::uint64_t offset, Blob elements);
[[nodiscard]] GODWIT_API RegionTransfer start_scatter_add(const RegionHandle& region,
                                                          std::span<const std::uint64_t> indices,
                                                          Blob numbers, ops::Number number);

// --- The same by the calling thread, where that is what the mechanism comes to; none: start it ---
[[nodiscard]] GODWIT_API std::optional<Outcome<ops::PackedAggregate>> aggregate_here(
    const RegionHandle& region, const char* what, ops::Number number, std::uint64_t at_least,
    std::uint64_t at_most, ops::Mechanism mechanism);
[[nodiscard]] GODWIT_API std::optional<Outcome<std::vector<ops::PackedEntry>>> top_here(
    const RegionHandle& region, ops::Number number, std::uint32_t k, ops::Mechanism mechanism);
[[nodiscard]] GODWIT_API std::optional<Outcome<std::vector<std::uint64_t>>> histogram_here(
    const RegionHandle& region, ops::Number number, std::uint64_t low, std::uint64_t high,
    std::uint32_t buckets, ops::Mechanism mechanism);

// --- Checks that need no call; their failures name the region and the elements ---
// Whether every shard has room for so many elements there.
[[nodiscard]] GODWIT_API Outcome<void> check_multicast(const RegionHandle& region,
                                                       std::uint64_t offset, std::uint64_t count);
// Whether the elements exist, are different ones, and lie on one shard.
[[nodiscard]] GODWIT_API Outcome<void> check_one_home(const RegionHandle& region,
                                                      std::span<const std::uint64_t> indices);
[[nodiscard]] GODWIT_API Outcome<void> check_append(const RegionHandle& records,
                                                    std::uint32_t shard, std::size_t bytes);
// A failure of `what` before anything was sent.
[[nodiscard]] GODWIT_API Failure op_failure(const RegionHandle& region, const OpSubject& subject,
                                            ErrorCode reason, const char* why);

// How a multicast ended: its reply says which shards are not known to have been written.
[[nodiscard]] GODWIT_API Outcome<void> multicast_outcome(CallHandle call);

// --- A user's function at the home of a shard ---
inline constexpr std::size_t kUserArgumentBytes = 896;
[[nodiscard]] GODWIT_API std::uint64_t first_of_shard(const RegionHandle& region,
                                                      std::uint32_t shard);
[[nodiscard]] GODWIT_API std::uint32_t shard_of(const RegionHandle& region, std::uint64_t index);
// Whether a function was exported with inline_.
[[nodiscard]] GODWIT_API bool runs_inline(const RegionHandle& region, FunctionCode& function);
[[nodiscard]] GODWIT_API CallHandle prepare_user_call(const RegionHandle& region,
                                                      const OpSubject& subject,
                                                      bool changes_elements);
GODWIT_API void start_user_call(CallHandle& call, const RegionHandle& region,
                                const OpSubject& subject, FunctionCode& function,
                                std::span<const Blob> parts);
[[nodiscard]] GODWIT_API Failure user_failure(CallHandle& call);

template <class R>
Outcome<R> user_outcome(CallHandle call) {
  if (!call.ok()) return tl::unexpected(user_failure(call));
  return outcome_of<R>(std::move(call));
}

// Spans and string views among the arguments are borrowed until the call has ended.
template <class R, class... Params>
Future<R> call_user(const RegionHandle& region, const OpSubject& subject, bool changes_elements,
                    const Function<R(Params...)>& function,
                    const std::remove_cvref_t<Passed<Params>>&... args) {
  CallHandle call = prepare_user_call(region, subject, changes_elements);
  if (call) {
    constexpr std::size_t kWorthLending = 1024;
    std::array<Blob, 2 * sizeof...(Params) + 1> parts;
    BlobWriter writer(call.small().first(kUserArgumentBytes), parts, kWorthLending);
    write_blob(writer, args...);
    if (!writer.fits()) {
      writer = BlobWriter(call.large(writer.copied()), parts, kWorthLending);
      write_blob(writer, args...);
    }
    start_user_call(call, region, subject, function.code(),
                    std::span(parts).first(writer.part_count()));
  }
  return Future<R>(std::move(call), &user_outcome<R>);
}

}  // namespace godwit::detail
