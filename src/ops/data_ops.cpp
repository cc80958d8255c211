// Reduction, movement and update, as programs start them.
#include <algorithm>

#include "base/fail.hpp"
#include "code/bundle/bundle.hpp"
#include "godwit/detail/op_calls.hpp"
#include "ops/attachment.hpp"
#include "ops/transfer.hpp"

namespace godwit::detail {

using ops::Attachment;
using ops::Note;
using ops::Op;

namespace {

std::uint32_t number_on_wire(ops::Number number) {
  return static_cast<std::uint32_t>(number);
}

// Calls a function that reduces the whole region, at the root of the tree.
template <class... Args>
CallHandle start_tree(const RegionHandle& handle, Op op, const char* what, const Args&... args) {
  const Attachment& region = handle.attachment();
  const Note note = region.note(what, 0, handle.size(), 0);
  return region.call(op, note, ops::TreePart{region.id(), 0, ops::kTreeFanOut}, args...);
}

Failure refused(const Note& note, ErrorCode reason, std::string_view why) {
  return {Ending::rejected, reason, false, fmt::format("{}: {}", subject_of(note), why)};
}

}  // namespace

CallHandle start_aggregate(const RegionHandle& region, const char* what, ops::Number number,
                           std::uint64_t at_least, std::uint64_t at_most) {
  return start_tree(region, Op::aggregate, what, number_on_wire(number), at_least, at_most);
}

CallHandle start_top(const RegionHandle& region, ops::Number number, std::uint32_t k) {
  return start_tree(region, Op::top, "top", number_on_wire(number), k);
}

CallHandle start_histogram(const RegionHandle& region, ops::Number number, std::uint64_t low,
                           std::uint64_t high, std::uint32_t buckets) {
  return start_tree(region, Op::histogram, "histogram", number_on_wire(number), low, high, buckets);
}

CallHandle start_accumulate(const RegionHandle& handle, std::uint64_t index, ops::Number number,
                            ops::Join join, std::uint64_t operand) {
  const Attachment& region = handle.attachment();
  const ShardPlace place = region.map().locate(index);
  return region.call(Op::accumulate, region.note("accumulate", index, 1, place.shard), region.id(),
                     place.shard, place.offset, number_on_wire(number),
                     static_cast<std::uint32_t>(join), operand);
}

CallHandle start_put_if(const RegionHandle& handle, std::uint64_t index, std::uint32_t from,
                        Blob expected, Blob desired) {
  const Attachment& region = handle.attachment();
  const ShardPlace place = region.map().locate(index);
  return region.call_copying(Op::put_if, region.note("put_if", index, 1, place.shard), region.id(),
                             place.shard, place.offset, from, expected, desired);
}

CallHandle start_compare_swap_all(const RegionHandle& handle,
                                  std::span<const std::uint64_t> indices, Blob expected,
                                  Blob desired) {
  const Attachment& region = handle.attachment();
  const std::uint32_t shard = region.map().locate(indices.front()).shard;
  std::array<std::uint64_t, ops::kMaxSwaps> offsets{};
  std::ranges::transform(indices, offsets.begin(),
                         [&](std::uint64_t index) { return region.map().locate(index).offset; });
  return region.call_copying(
      Op::compare_swap_all, region.note("compare_swap_all", indices.front(), 1, shard), region.id(),
      shard, std::span<const std::uint64_t>(offsets).first(indices.size()), expected, desired);
}

CallHandle start_append(const RegionHandle& records, const RegionHandle& counts,
                        std::uint32_t shard, Blob elements) {
  const Attachment& region = records.attachment();
  const std::uint64_t first = region.map().index_at({shard, 0});
  const Note note = region.note("append to the log", first,
                                region.map().shard_elements(shard, records.size()), shard);
  return region.call_copying(Op::append, note, region.id(), counts.id(), shard, elements);
}

CallHandle start_multicast(const RegionHandle& handle, std::uint64_t offset, Blob elements) {
  const Attachment& region = handle.attachment();
  const Note note = region.note("multicast", offset, elements.size() / region.element_size(), 0);
  return region.call(Op::multicast, note, ops::TreePart{region.id(), 0, ops::kTreeFanOut}, offset,
                     elements);
}

RegionTransfer start_scatter_add(const RegionHandle& region, std::span<const std::uint64_t> indices,
                                 Blob numbers, ops::Number number) {
  auto transfer = std::make_unique<ops::Transfer>(region.shared_attachment());
  transfer->add(indices, numbers, number);
  return RegionTransfer(std::move(transfer));
}

// --- Checks -------------------------------------------------------------------------------------

Outcome<void> check_multicast(const RegionHandle& handle, std::uint64_t offset,
                              std::uint64_t count) {
  const Attachment& region = handle.attachment();
  const std::uint64_t elements = handle.size();
  for (std::uint32_t shard = 0; shard < region.map().shards(); ++shard) {
    const std::uint64_t there = region.map().shard_elements(shard, elements);
    if (count <= there && offset <= there - count) continue;
    return tl::unexpected(refused(region.note("multicast", offset, count, shard),
                                  ErrorCode::invalid_argument,
                                  fmt::format("shard {} has {} elements", shard, there)));
  }
  return {};
}

Outcome<void> check_one_home(const RegionHandle& handle, std::span<const std::uint64_t> indices) {
  const Attachment& region = handle.attachment();
  if (indices.empty() || indices.size() > ops::kMaxSwaps ||
      indices.size() * region.element_size() > ops::kMaxUpdateBytes) {
    return tl::unexpected(refused(
        region.note("compare_swap_all", indices.empty() ? 0 : indices.front(), indices.size(), 0),
        ErrorCode::invalid_argument,
        fmt::format("it takes 1 to {} elements, of {} bytes together at most", ops::kMaxSwaps,
                    ops::kMaxUpdateBytes)));
  }
  for (std::size_t i = 0; i < indices.size(); ++i) {
    auto fits = region.check("compare_swap_all", indices[i], 1);
    if (!fits) return fits;
    const Note note = region.note("compare_swap_all", indices[i], 1, 0);
    const std::uint32_t home = region.map().locate(indices.front()).shard;
    const std::uint32_t shard = region.map().locate(indices[i]).shard;
    if (shard != home) {
      return tl::unexpected(refused(
          note, ErrorCode::invalid_argument,
          fmt::format("it lies on shard {} and element {} on shard {}; only one home can make "
                      "several changes one step: keep what changes together on one shard",
                      shard, indices.front(), home)));
    }
    if (std::ranges::count(indices.first(i), indices[i]) > 0) {
      return tl::unexpected(refused(note, ErrorCode::invalid_argument, "it stands there twice"));
    }
  }
  return {};
}

Outcome<void> check_append(const RegionHandle& records, std::uint32_t shard, std::size_t bytes) {
  const Attachment& region = records.attachment();
  if (shard >= region.map().shards()) {
    return tl::unexpected(Failure{Ending::rejected, ErrorCode::invalid_argument, false,
                                  fmt::format("append to shard {} of log '{}': it has {} shards",
                                              shard, region.name(), region.map().shards())});
  }
  if (bytes == 0 || bytes > ops::kMaxUpdateBytes) {
    return tl::unexpected(
        Failure{Ending::rejected, ErrorCode::too_large, false,
                fmt::format("append to shard {} of log '{}': {} bytes; it takes 1 to {} at once",
                            shard, region.name(), bytes, ops::kMaxUpdateBytes)});
  }
  return {};
}

Failure op_failure(const RegionHandle& region, const OpSubject& subject, ErrorCode reason,
                   const char* why) {
  return refused(
      region.attachment().note(subject.what, subject.first, subject.count, subject.shard), reason,
      why);
}

Outcome<void> multicast_outcome(CallHandle call) {
  if (!call.ok()) return tl::unexpected(ops::failure_of(call));
  std::span<const std::uint32_t> missing;
  DecodeError error;
  const bool read = decode_result(call.result(), missing, error) && !missing.empty();
  if (read && missing.size() == 1) return {};
  const Note note = ops::note_of(call);
  if (!read) {
    return tl::unexpected(
        Failure{Ending::rejected, ErrorCode::bad_format, true,
                fmt::format("{}: the root sent no list of shards", subject_of(note))});
  }
  const auto reason = static_cast<ErrorCode>(missing.front());
  std::vector<std::uint32_t> shards(missing.begin() + 1, missing.end());
  std::ranges::sort(shards);
  return tl::unexpected(
      Failure{says_gone(reason) ? Ending::node_lost : Ending::rejected, reason, true,
              fmt::format("{}: written, but for shards {}, of which it is not known",
                          subject_of(note), fmt::join(shards, ", "))});
}

// --- A user's function --------------------------------------------------------------------------

std::uint32_t shard_of(const RegionHandle& region, std::uint64_t index) {
  return region.attachment().map().locate(index).shard;
}

std::uint64_t first_of_shard(const RegionHandle& region, std::uint32_t shard) {
  return region.attachment().map().index_at({shard, 0});
}

bool runs_inline(const RegionHandle& region, FunctionCode& function) {
  call::Caller& caller = region.attachment().host().caller();
  const call::FunctionRef& known = function.known_to(caller);
  const code::Bundle bundle = caller.engine().functions().bundle(known.bundle);
  return !bundle || bundle.functions()[known.function].is_inline();
}

CallHandle prepare_user_call(const RegionHandle& region, const OpSubject& subject,
                             bool changes_elements) {
  static_assert(kUserArgumentBytes <= ops::kArgumentBytes);
  const Attachment& attachment = region.attachment();
  return attachment.prepare(
      attachment.note(subject.what, subject.first, subject.count, subject.shard), changes_elements);
}

void start_user_call(CallHandle& call, const RegionHandle& region, const OpSubject& subject,
                     FunctionCode& function, std::span<const Blob> parts) {
  const Attachment& attachment = region.attachment();
  call::Caller& caller = attachment.host().caller();
  if (subject.change != nullptr) call.begin_when(*subject.change);
  const bool has_limit = subject.at_most > std::chrono::nanoseconds{};
  call.start(attachment.shards()[subject.shard].node.value, function.known_to(caller), parts,
             has_limit ? subject.at_most : caller.options().default_deadline);
}

Failure user_failure(CallHandle& call) {
  return ops::user_failure_of(call);
}

}  // namespace godwit::detail
