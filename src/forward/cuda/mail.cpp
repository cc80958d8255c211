#include "forward/cuda/mail.hpp"

#include <chrono>
#include <utility>

namespace godwit::cuda {

using forward::Chunk;

namespace {

// A chunk for one message; it deletes itself when it comes back.
struct Envelope final : godwit::detail::ChunkHome {
  explicit Envelope(std::size_t bytes) : memory(new std::byte[bytes]) {
    chunk.home = this;
    chunk.data = memory.get();
    chunk.capacity = chunk.used = static_cast<std::uint32_t>(bytes);
    chunk.count = 1;
  }
  virtual ~Envelope() = default;
  void give_back(Chunk*) noexcept override { delete this; }

  Chunk chunk;
  std::unique_ptr<std::byte[]> memory;
};

}  // namespace

Mail::~Mail() {
  while (waiting_ != nullptr) godwit::detail::give_back(std::exchange(waiting_, waiting_->next));
}

void Mail::send_bytes(Rank to, std::uint16_t tag, std::span<const std::byte> bytes) {
  auto* const envelope = new Envelope(bytes.size());
  std::memcpy(envelope->memory.get(), bytes.data(), bytes.size());
  envelope->chunk.kind = tag;
  envelope->chunk.source = rank_;
  envelope->chunk.destination = to;
  carrier_->send(&envelope->chunk);
}

Result<Chunk*> Mail::take(std::uint16_t tag, std::size_t bytes, forward::Deadline deadline) {
  for (;;) {
    for (Chunk** at = &waiting_; *at != nullptr; at = &(*at)->next) {
      Chunk* const chunk = *at;
      if (chunk->kind != tag || chunk->used != bytes) continue;
      *at = chunk->next;
      return chunk;
    }
    if (Chunk* arrived = carrier_->receive()) {
      Chunk** end = &waiting_;
      while (*end != nullptr) end = &(*end)->next;
      *end = arrived;
      continue;
    }
    if (auto lost = carrier_->lost()) return tl::unexpected(*std::move(lost));
    if (std::chrono::steady_clock::now() >= deadline) {
      return fail(
          ErrorCode::deadline,
          "rank {} waited in vain for another to make the same exchange: all ranks of a group "
          "make the same ones, in one order",
          rank_);
    }
    carrier_->wait(deadline);
  }
}

}  // namespace godwit::cuda
