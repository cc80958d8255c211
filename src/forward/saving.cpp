// What ranks agree on when they write files together: checkpoint(), restore(), save_trace(). It is
// the same wherever their items lie: a rank shows what it holds, and takes in what is loaded.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/fail.hpp"
#include "forward/checkpoint.hpp"
#include "forward/chunk_check.hpp"
#include "forward/chunk_label.hpp"
#include "forward/cpu_port.hpp"
#include "forward/waiting.hpp"

namespace godwit::forward {

Status CpuPort::checkpoint(const std::string& folder) {
  Holding mine{.round = number_};
  if (total_emitted() + items_open() > emitted_before_ + spill_.items()) {
    mine.ready = fail(ErrorCode::invalid_argument,
                      "rank {} has emitted items since advance(): call checkpoint() right after "
                      "it, before its items are processed",
                      rank_);
  }
  mine.each = [this](const Holding::Show& show) -> Status {
    for (const Chunk* const chunk : incoming_) GODWIT_CHECK(show(*chunk, Was::incoming));
    return {};
  };
  return save(folder, mine);
}

// Three agreements: what its number is, that every rank's part is on the disk, and that rank 0 has
// made them count.
Status CpuPort::save(const std::string& folder, const Holding& holding) {
  GODWIT_CHECK(check_usable());
  const PortTrace::Span span(trace_, "checkpoint", 0);
  CheckpointManifest manifest{.number = rank_ == 0 ? CheckpointManifest::new_number() : 0,
                              .round = holding.round,
                              .ranks = ranks_,
                              .types = introduction()};
  GODWIT_TRY(const std::vector<std::string> said,
             gather(holding.ready, manifest.encode(), Hears::all));
  GODWIT_TRY(manifest, CheckpointManifest::parse(said.front()));
  GODWIT_CHECK(agree(save_part(folder, manifest.number, holding)));
  Status committed;
  if (rank_ == 0) {
    auto opened = CheckpointFolder::open(folder, false);
    committed = opened ? opened->commit(manifest) : tl::unexpected(opened.error());
  }
  return agree(committed);
}

Status CpuPort::save_part(const std::string& path, std::uint64_t number, const Holding& holding) {
  GODWIT_TRY(const CheckpointFolder folder, CheckpointFolder::open(path, true));
  GODWIT_TRY(CheckpointFolder::Part part, folder.write_part(number, rank_));
  in_touch_ = std::chrono::steady_clock::now();
  const auto add = [&](const Chunk& chunk, Was was) {
    stay_in_touch();
    return part.add(chunk, was);
  };
  GODWIT_CHECK(holding.each(add));
  {
    const std::lock_guard lock(lock_);
    GODWIT_CHECK(spill_.each([&](const Chunk& chunk) { return add(chunk, Was::held_back); }));
  }
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    Status written;
    kept_[i].save([&](Bytes bytes) { written = part.add_kept(i, bytes); });
    GODWIT_CHECK(written);
  }
  return part.finish();
}

void CpuPort::stay_in_touch() {
  const auto now = std::chrono::steady_clock::now();
  if (now - in_touch_ < options_.patience / 4) return;
  in_touch_ = now;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) tell(rank, {.kind = ControlKind::busy});
  }
}

// Tells the others how this rank's part of something went, and hears of theirs: the first failure
// by rank is everybody's.
Result<std::vector<std::string>> CpuPort::gather(const Status& mine, std::string text, Hears who) {
  const ErrorCode why = mine ? ErrorCode::none : mine.error().code;
  if (!mine) text = mine.error().message;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    const bool needs_text = rank == 0 || !mine || who == Hears::all;
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

Result<std::uint64_t> CpuPort::restore(const std::string& path, const Replay& replay,
                                       Restoring how) {
  const Taking taking{
      .as_it_was = [this](const Chunk& chunk, Was was) { return adopt(chunk, was); },
      .by_route = [&](const Chunk& chunk) { return replay(chunk), Status(); },
      .finish = [] { return Status(); }};
  GODWIT_TRY(const std::uint64_t round, load(path, how, taking));
  if (round > 0) number_ = round - 1;  // it comes again
  return round;
}

// Rank 0 looks what there is, and all go by that: they do not see a folder change at one moment.
Result<std::uint64_t> CpuPort::load(const std::string& path, Restoring how, const Taking& taking) {
  GODWIT_CHECK(check_usable());
  Status mine;
  std::string text;
  if (rank_ == 0) {
    const auto found = CheckpointFolder::read_manifest(path);
    if (found) {
      text = found->encode();
    } else if (how == Restoring::by_route || found.error().code != ErrorCode::not_found) {
      mine = tl::unexpected(found.error());
    }
  }
  GODWIT_TRY(const std::vector<std::string> said, gather(mine, std::move(text), Hears::all));
  if (said.front().empty()) return 0;
  GODWIT_TRY(const CheckpointManifest manifest, CheckpointManifest::parse(said.front()));
  GODWIT_CHECK(agree(load_parts(path, manifest, how, taking)));
  return manifest.round;
}

Status CpuPort::load_parts(const std::string& path, const CheckpointManifest& manifest,
                           Restoring how, const Taking& taking) {
  if (manifest.types != introduction()) {
    return fail(ErrorCode::type_mismatch, "the checkpoint in {} is of other items: {}; here: {}",
                path, manifest.types, introduction());
  }
  const bool is_same_ranks = manifest.ranks == ranks_;
  for (const detail::Kept& kept : kept_) {
    if (is_same_ranks || !kept.needs_same_ranks) continue;
    return fail(ErrorCode::invalid_argument,
                "the checkpoint in {} is of {} ranks, and here are {}: say how what several ranks "
                "kept becomes one, keep(state, merge), or start as many",
                path, manifest.ranks, ranks_);
  }
  const auto is_rank = [this](Rank rank) { return rank >= 0 && rank < ranks_; };
  in_touch_ = std::chrono::steady_clock::now();
  const auto take = [&](const Chunk& chunk, Was was) -> Status {
    stay_in_touch();
    if (chunk.kind >= types_.size() || !holds_its_items(chunk, types_[chunk.kind])) {
      return fail(ErrorCode::bad_format, "the checkpoint in {} has items of no known kind", path);
    }
    if (!is_same_ranks || how == Restoring::by_route) return taking.by_route(chunk);
    if (!is_rank(chunk.source) || !is_rank(chunk.destination)) {
      return fail(ErrorCode::bad_format, "a chunk in the checkpoint is of rank {}, for rank {}",
                  chunk.source, chunk.destination);
    }
    return taking.as_it_was(chunk, was);
  };
  GODWIT_TRY(const CheckpointFolder folder, CheckpointFolder::open(path, false));
  for (Rank part = rank_; part < manifest.ranks; part += ranks_) {
    std::vector<std::vector<std::byte>> saved;
    const auto take_kept = [&](std::size_t index, Bytes piece) -> Status {
      saved.resize(std::max(saved.size(), std::min(index, kept_.size()) + 1));
      std::vector<std::byte>& whole = saved[std::min(index, kept_.size())];
      whole.insert(whole.end(), piece.begin(), piece.end());
      return {};
    };
    GODWIT_CHECK(folder.read_part(manifest.number, part, {.chunk = take, .kept = take_kept}));
    if (saved.size() != kept_.size()) {
      return fail(ErrorCode::type_mismatch,
                  "the checkpoint in {} is of a program that keeps {} things beside its items, and "
                  "this one keeps {}",
                  path, saved.size(), kept_.size());
    }
    for (std::size_t i = 0; i < saved.size(); ++i) {
      if (kept_[i].load(saved[i], part)) continue;
      return fail(ErrorCode::type_mismatch,
                  "what rank {} kept in the checkpoint in {} has {} bytes as number {}, and what "
                  "this program keeps there is of another size",
                  part, path, saved[i].size(), i);
    }
  }
  return taking.finish();
}

// A chunk as it was, with its source and its place among that one's: so that the order of items,
// where it counts, is that of a run that nothing disturbed. What had arrived had room, if not in
// this rank's queue then in others'.
Status CpuPort::adopt(const Chunk& saved, Was was) {
  const std::lock_guard lock(lock_);
  if (was == Was::held_back && options_.spill_bytes > 0) {
    GODWIT_CHECK(spill_.push(saved));
  } else {
    Chunk* chunk = pool_->take(saved.used);
    if (chunk == nullptr) chunk = pool_->take_beyond(saved.used);
    if (chunk == nullptr) {
      return fail(ErrorCode::out_of_memory, "rank {} has no memory for the items of a checkpoint",
                  rank_);
    }
    copy_label(saved, *chunk);
    chunk->round = current_ + 1;
    std::memcpy(chunk->items(), saved.items(), saved.used);
    dispatch(chunk);
  }
  adopted_ += saved.count;
  const std::size_t worker = Outbox::worker_of(saved.sequence);
  if (saved.source == rank_ && worker < outboxes_.size()) {
    outboxes_[worker].count_from(saved.sequence);
  }
  return {};
}

}  // namespace godwit::forward
