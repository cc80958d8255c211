// What ranks agree on when they write files together: checkpoint(), restore(), save_trace().
#include <fstream>
#include <utility>

#include "base/fail.hpp"
#include "forward/checkpoint.hpp"
#include "forward/chunk_check.hpp"
#include "forward/cpu_port.hpp"
#include "forward/waiting.hpp"

namespace godwit::forward {

// Two agreements: first that every rank's part is on the disk, then that rank 0 has made them
// count.
Status CpuPort::checkpoint(const std::string& folder) {
  GODWIT_CHECK(check_all_here("checkpoint()"));
  GODWIT_CHECK(check_usable());
  if (total_emitted() + items_open() > emitted_before_ + spill_.items()) {
    return fail(ErrorCode::invalid_argument,
                "rank {} has emitted items since advance(): call checkpoint() right after it, "
                "before its items are processed",
                rank_);
  }
  const Status mine = save_part(folder);
  GODWIT_CHECK(agree(mine));
  Status committed;
  if (rank_ == 0) {
    if (auto opened = CheckpointFolder::open(folder, false)) {
      committed = opened->commit({.round = current_, .ranks = ranks_, .types = introduction()});
    } else {
      committed = tl::unexpected(opened.error());
    }
  }
  return agree(committed);
}

Status CpuPort::save_part(const std::string& path) {
  GODWIT_TRY(const CheckpointFolder folder, CheckpointFolder::open(path, true));
  GODWIT_TRY(CheckpointFolder::Part part, folder.write_part(current_, rank_));
  for (const Chunk* const chunk : incoming_) GODWIT_CHECK(part.add(*chunk));
  const std::lock_guard lock(lock_);
  GODWIT_CHECK(spill_.each([&](const Chunk& chunk) { return part.add(chunk); }));
  return part.finish();
}

// Tells the others how this rank's part of something went, and hears of theirs: the first failure
// by rank is everybody's.
Result<std::vector<std::string>> CpuPort::gather(const Status& mine, std::string text) {
  const ErrorCode why = mine ? ErrorCode::none : mine.error().code;
  if (!mine) text = mine.error().message;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    const bool needs_text = rank == 0 || !mine;
    tell(rank, {.kind = ControlKind::agreed, .why = why, .chunks = agreed_},
         needs_text ? std::string_view(text) : std::string_view());
  }
  Agreement& agreement = agreements_[agreed_ & 1U];
  agreement.hear(rank_, why, text);
  const auto unheard = [&](Rank rank) { return !agreement.heard[static_cast<std::size_t>(rank)]; };
  GODWIT_CHECK(wait_until([&] { return agreement.count == ranks_; }, unheard));
  ++agreed_;
  Agreement ended = std::exchange(agreement, Agreement(ranks_));
  std::vector<std::string> texts;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    Error& theirs = ended.ends[static_cast<std::size_t>(rank)];
    if (theirs.code != ErrorCode::none) {
      return fail(theirs.code, "rank {}: {}", rank, theirs.message);
    }
    texts.push_back(std::move(theirs.message));
  }
  return texts;
}

Status CpuPort::agree(const Status& mine) {
  GODWIT_CHECK(gather(mine, {}));
  return {};
}

Status CpuPort::save_trace(const std::string& path) {
  if (over_) return tl::unexpected(*over_);
  GODWIT_CHECK(check_all_here("save_trace()"));
  GODWIT_TRY(const std::vector<std::string> parts, gather({}, trace_.events_of(rank_)));
  Status written;
  if (rank_ == 0) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << "{\"traceEvents\":[";
    const char* separator = "";
    for (const std::string& part : parts) {
      if (part.empty()) continue;
      file << std::exchange(separator, ",\n") << part;
    }
    file << "]}\n";
    file.close();
    if (!file) written = fail(ErrorCode::io, "the trace cannot be written to {}", path);
  }
  return agree(written);
}

Result<std::uint64_t> CpuPort::restore(const std::string& path, const Replay& replay) {
  GODWIT_CHECK(check_all_here("restore()"));
  GODWIT_CHECK(check_usable());
  std::uint64_t round = 0;
  const Status mine = [&]() -> Status {
    GODWIT_TRY(const CheckpointFolder folder, CheckpointFolder::open(path, false));
    GODWIT_TRY(const CheckpointManifest manifest, folder.manifest());
    if (manifest.types != introduction()) {
      return fail(ErrorCode::type_mismatch, "the checkpoint in {} is of other items: {}; here: {}",
                  path, manifest.types, introduction());
    }
    round = manifest.round;
    for (Rank part = rank_; part < manifest.ranks; part += ranks_) {
      GODWIT_CHECK(folder.read_part(manifest.round, part, [&](const Chunk& chunk) -> Status {
        if (chunk.kind >= types_.size() || !holds_its_items(chunk, types_[chunk.kind])) {
          return fail(ErrorCode::bad_format, "the checkpoint in {} has items of no known kind",
                      path);
        }
        replay(chunk);
        return {};
      }));
    }
    return {};
  }();
  GODWIT_CHECK(agree(mine));
  return round;
}

}  // namespace godwit::forward
