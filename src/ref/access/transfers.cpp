#include "ref/access/transfers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "ref/disk/checksum.hpp"

namespace godwit::ref {
namespace {

bool copy_and_check(const ArrivedPiece& piece, std::byte* to) {
  Checksum checksum;
  checksum.add_copying(piece.bytes, to);
  return checksum.value() == piece.checksum;
}

tl::unexpected<Error> no_memory(const Transfers::Key& key, std::uint64_t size) {
  return fail(ErrorCode::out_of_memory, "no memory for the {} bytes of object {}", size,
              key.object.short_hex());
}

}  // namespace

class Transfers::Transfer {
 public:
  Transfer(New made, Buffer memory)
      : key(made.key),
        source(std::move(made.source)),
        bytes(std::make_shared<Buffer>(std::move(memory))),
        pieces(*source, {0, made.size}, made.patience,
               [this](std::uint64_t offset, const ArrivedPiece& piece) {
                 return bytes->empty()
                            ? check_and_keep(piece)
                            : Result<bool>(copy_and_check(piece, bytes->data() + offset));
               }) {}

  // The only piece stays where it has arrived.
  Result<bool> check_and_keep(const ArrivedPiece& piece) {
    if (Checksum::of(piece.bytes) != piece.checksum) return false;
    Buffer arrived = source->keep(0);
    *bytes = arrived.empty() ? Buffer::copy_of(piece.bytes) : std::move(arrived);
    if (bytes->size() != piece.bytes.size()) return no_memory(key, piece.bytes.size());
    return true;
  }

  const Key key;
  // The driver's.
  const std::unique_ptr<PieceSource> source;
  const std::shared_ptr<Buffer> bytes;
  Pieces pieces;
  // With the mutex held.
  std::size_t wanted = 0;
  bool is_driven = false;
  bool has_ended = false;
  std::optional<Error> failed;
};

Result<Transfers::Wanted> Transfers::join(New made) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto place = transfers_.find(made.key); place != transfers_.end()) {
      ++place->second->wanted;
      return Wanted{.transfer = place->second};
    }
  }
  Buffer memory;
  if (made.size > Pieces::kBytes) {
    memory = Buffer::allocate(made.size);
    if (memory.data() == nullptr) return no_memory(made.key, made.size);
  }
  const Key key = made.key;
  const auto transfer = std::make_shared<Transfer>(std::move(made), std::move(memory));
  const std::lock_guard lock(mutex_);
  const auto place = transfers_.try_emplace(key, transfer).first;
  ++place->second->wanted;
  return Wanted{.transfer = place->second};
}

void Transfers::finish(std::span<Wanted> all, Time until) {
  const auto has_ended = [](const Wanted& wanted) { return wanted.has_ended(); };
  for (;;) {
    const std::size_t mine = look(all);
    if (std::all_of(all.begin(), all.end(), has_ended)) return;
    if (mine == 0) {
      wait_for_others(all, until);
    } else if (mine == 1) {
      static_cast<void>(drive(all, Duration::max(), until));
    } else if (!drive(all, Duration(0), until)) {
      // Nothing has come: waits for each a moment, which is progress for all of them.
      static_cast<void>(drive(all, kGlance, until));
    }
  }
}

// Collects what has ended, takes what nobody drives; how many this thread drives.
std::size_t Transfers::look(std::span<Wanted> all) {
  std::size_t mine = 0;
  for (const Wanted& wanted : all) mine += wanted.is_mine ? 1 : 0;
  for (Wanted& wanted : all) {
    if (wanted.has_ended() || wanted.is_mine) continue;
    std::unique_lock lock(mutex_);
    Transfer& transfer = *wanted.transfer;
    if (transfer.has_ended) {
      Result<std::shared_ptr<const Buffer>> bytes = transfer.bytes;
      if (transfer.failed) bytes = tl::unexpected(*transfer.failed);
      lock.unlock();
      leave(wanted, std::move(bytes));
    } else if (!transfer.is_driven && mine < kTogether) {
      transfer.is_driven = true;
      wanted.is_mine = true;
      ++mine;
    }
  }
  return mine;
}

// True: something has come, or ended.
bool Transfers::drive(std::span<Wanted> all, Duration at_most, Time until) {
  bool moved = false;
  for (Wanted& wanted : all) {
    if (!wanted.is_mine) continue;
    Transfer& transfer = *wanted.transfer;
    const auto progress = transfer.pieces.advance(at_most, until);
    if (progress && *progress == Pieces::Progress::none) continue;
    moved = true;
    if (progress && *progress == Pieces::Progress::some) continue;
    if (!progress && until != Pieces::kNever && transfer.source->now() >= until) {
      leave(wanted, tl::unexpected(progress.error()));  // others may have more time
      continue;
    }
    wanted.is_mine = false;
    end(transfer, progress ? std::nullopt : std::optional(progress.error()));
  }
  return moved;
}

void Transfers::end(Transfer& transfer, std::optional<Error> failed) {
  const std::lock_guard lock(mutex_);
  transfer.failed = std::move(failed);
  transfer.has_ended = true;
  transfers_.erase(transfer.key);
  changed_.notify_all();
}

void Transfers::wait_for_others(std::span<Wanted> all, Time until) {
  const auto has_news = [&] {
    return std::any_of(all.begin(), all.end(), [](const Wanted& wanted) {
      return !wanted.has_ended() && (wanted.transfer->has_ended || !wanted.transfer->is_driven);
    });
  };
  const auto first = std::find_if(all.begin(), all.end(),
                                  [](const Wanted& wanted) { return !wanted.has_ended(); });
  {
    std::unique_lock lock(mutex_);
    if (until == Pieces::kNever) return changed_.wait(lock, has_news);
    const Duration left = until - first->transfer->source->now();
    if (changed_.wait_for(lock, left, has_news)) return;
  }
  for (Wanted& wanted : all) {
    if (wanted.has_ended()) continue;
    leave(wanted, fail(ErrorCode::deadline,
                       "there was no time left to wait for another thread of "
                       "this process, which fetches it"));
  }
}

void Transfers::leave(Wanted& wanted, Result<std::shared_ptr<const Buffer>> bytes) {
  wanted.bytes = std::move(bytes);
  const bool was_mine = std::exchange(wanted.is_mine, false);
  const std::shared_ptr<Transfer> left = std::move(wanted.transfer);
  const std::lock_guard lock(mutex_);
  --left->wanted;
  if (left->has_ended) return;
  if (was_mine) left->is_driven = false;
  if (left->wanted == 0) transfers_.erase(left->key);
  changed_.notify_all();
}

std::size_t Transfers::under_way() const {
  const std::lock_guard lock(mutex_);
  return transfers_.size();
}

}  // namespace godwit::ref
