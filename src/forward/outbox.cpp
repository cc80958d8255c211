#include "forward/outbox.hpp"

#include <utility>

namespace godwit::forward {

Outbox::Outbox(std::span<const detail::ItemType> types, Rank ranks, std::size_t worker)
    : types_(types),
      ranks_(ranks),
      worker_(worker),
      cursors_(types.size() * kPriorities * static_cast<std::size_t>(ranks)),
      emitted_to_(static_cast<std::size_t>(ranks)),
      sent_back_to_(static_cast<std::size_t>(ranks)) {}

void Outbox::open(std::size_t slot, Chunk* chunk) noexcept {
  const auto ranks = static_cast<std::size_t>(ranks_);
  const std::size_t row = slot / ranks;
  chunk->destination = static_cast<Rank>(slot % ranks);
  chunk->kind = static_cast<std::uint16_t>(row / kPriorities);
  chunk->priority = static_cast<Priority>(row % kPriorities);
  cursors_[slot] = {.at = chunk->items(), .end = chunk->items() + chunk->capacity, .chunk = chunk};
}

Chunk* Outbox::seal(std::size_t slot, std::uint64_t round) noexcept {
  Cursor& cursor = cursors_[slot];
  if (cursor.chunk == nullptr || cursor.at == cursor.chunk->items()) return nullptr;
  Chunk* const chunk = cursor.chunk;
  chunk->count = items_in(cursor);
  chunk->used = static_cast<std::uint32_t>(cursor.at - chunk->items());
  cursor = {};
  chunk->round = round;
  chunk->sequence = pass_ << kPassShift | worker_ << kWorkerShift | sealed_++;
  emissions_ += chunk->count;
  emitted_to_[static_cast<std::size_t>(chunk->destination)] += chunk->count;
  return chunk;
}

void Outbox::close(std::size_t slot) noexcept {
  if (cursors_[slot].chunk != nullptr) give_back(std::exchange(cursors_[slot], {}).chunk);
}

void Outbox::drop_all() noexcept {
  for (std::size_t slot = 0; slot < cursors_.size(); ++slot) close(slot);
}

std::uint32_t Outbox::items_in(const Cursor& cursor) const noexcept {
  const detail::ItemType& type = types_[cursor.chunk->kind];
  if (type.form == detail::ItemForm::tailed) return cursor.chunk->count;
  return static_cast<std::uint32_t>(cursor.at - cursor.chunk->items()) / type.size;
}

std::uint64_t Outbox::items_open() const noexcept {
  std::uint64_t items = 0;
  for (const Cursor& cursor : cursors_) {
    if (cursor.chunk != nullptr) items += items_in(cursor);
  }
  return items;
}

std::uint64_t Outbox::emitted_to_by_now(Rank rank) const noexcept {
  std::uint64_t items = emitted_to_[static_cast<std::size_t>(rank)];
  for (auto slot = static_cast<std::size_t>(rank); slot < cursors_.size();
       slot += static_cast<std::size_t>(ranks_)) {
    if (cursors_[slot].chunk != nullptr) items += items_in(cursors_[slot]);
  }
  return items;
}

void Outbox::count_sent_back(std::span<std::uint64_t> sent_back_to) const noexcept {
  for (std::size_t rank = 0; rank < sent_back_to.size(); ++rank) {
    sent_back_to[rank] += sent_back_to_[rank];
  }
}

void Outbox::count(std::span<std::uint64_t> emitted_to) const noexcept {
  for (std::size_t rank = 0; rank < emitted_to.size(); ++rank)
    emitted_to[rank] += emitted_to_[rank];
  for (const Cursor& cursor : cursors_) {
    if (cursor.chunk == nullptr) continue;
    emitted_to[static_cast<std::size_t>(cursor.chunk->destination)] += items_in(cursor);
  }
}

}  // namespace godwit::forward
