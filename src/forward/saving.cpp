// checkpoint() and restore(): what ranks agree on when items go to disk and come back.
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
Status CpuPort::agree(const Status& mine) {
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    tell(rank,
         {.kind = ControlKind::agreed,
          .why = mine ? ErrorCode::none : mine.error().code,
          .chunks = agreed_},
         mine ? std::string_view() : mine.error().message);
  }
  Agreement& agreement = agreements_[agreed_ & 1U];
  agreement.hear(rank_, mine);
  const auto unheard = [&](Rank rank) { return !agreement.heard[static_cast<std::size_t>(rank)]; };
  GODWIT_CHECK(wait_until([&] { return agreement.count == ranks_; }, unheard));
  ++agreed_;
  Agreement ended = std::exchange(agreement, Agreement(ranks_));
  for (Rank rank = 0; rank < ranks_; ++rank) {
    const Status& theirs = ended.ends[static_cast<std::size_t>(rank)];
    if (!theirs) return fail(theirs.error().code, "rank {}: {}", rank, theirs.error().message);
  }
  return {};
}

Result<std::uint64_t> CpuPort::restore(const std::string& path, const Replay& replay) {
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
