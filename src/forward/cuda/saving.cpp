// What a team's ranks hold, for the host and for checkpoints: files and agreements of these are
// forward/saving.cpp's.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "forward/cuda/cuda_error.hpp"
#include "forward/cuda/outside.hpp"
#include "forward/cuda/team.hpp"

namespace godwit::cuda {

using forward::Chunk;
using forward::Outpost;

namespace {

constexpr const char* kCopying = "copying items from a GPU";
// So much is on its way to the host at once, in chunks of the outpost's.
constexpr std::size_t kPieceBytes = 256 * 1024;
constexpr std::size_t kPieces = 8;

// Copies runs of a rank's items to pinned memory and shows them, a few at a time.
class Showing {
 public:
  Showing(Outpost& outpost, Rank rank, cudaStream_t stream, const Outpost::Holding::Show& show)
      : outpost_(outpost), rank_(rank), stream_(stream), show_(show) {}

  [[nodiscard]] Status add(std::uint32_t kind, std::span<const std::byte> items,
                           std::size_t item_bytes) {
    const std::size_t at_once = kPieceBytes / item_bytes * item_bytes;
    while (!items.empty()) {
      if (filled_ == kPieces) GODWIT_CHECK(flush());
      if (filled_ == pieces_.size()) {
        pieces_.emplace_back(outpost_.take_chunk(kPieceBytes));
        if (pieces_.back() == nullptr) {
          pieces_.pop_back();
          return fail(ErrorCode::out_of_memory, "the host has no memory to save items through");
        }
      }
      const auto piece = items.first(std::min(items.size(), at_once));
      Chunk& chunk = *pieces_[filled_++];
      chunk.kind = static_cast<std::uint16_t>(kind);
      chunk.source = chunk.destination = rank_;
      chunk.sequence = sequence_++;
      chunk.used = static_cast<std::uint32_t>(piece.size());
      chunk.count = static_cast<std::uint32_t>(piece.size() / item_bytes);
      GODWIT_CHECK(check_cuda(
          cudaMemcpyAsync(chunk.items(), piece.data(), piece.size(), cudaMemcpyDefault, stream_),
          kCopying));
      items = items.subspan(piece.size());
    }
    return {};
  }
  [[nodiscard]] Status flush() {
    GODWIT_CHECK(check_cuda(cudaStreamSynchronize(stream_), kCopying));
    for (std::size_t i = 0; i < filled_; ++i) {
      GODWIT_CHECK(show_(*pieces_[i], Outpost::Was::incoming));
    }
    filled_ = 0;
    return {};
  }

 private:
  struct GiveBack {
    void operator()(Chunk* chunk) const noexcept { godwit::detail::give_back(chunk); }
  };

  Outpost& outpost_;
  const Rank rank_;
  const cudaStream_t stream_;
  const Outpost::Holding::Show& show_;
  std::vector<std::unique_ptr<Chunk, GiveBack>> pieces_;
  std::size_t filled_ = 0;
  // Items have lost their sources: their order is that in which they lie.
  std::uint64_t sequence_ = 0;
};

}  // namespace

// Kernels have ended, folds among them, and nothing was launched for this round.
Status Team::settle(const Member& member) {
  GODWIT_CHECK(check_cuda(cudaSetDevice(terms_.device), "using the GPU"));
  GODWIT_CHECK(check_cuda(cudaStreamSynchronize(member.stream), "the kernels of a round"));
  if (!member.processed && member.launches == 0 && begun_ == ended_) return {};
  return fail(ErrorCode::invalid_argument,
              "rank {} has launched kernels since advance(): call checkpoint() right after it, "
              "before its items are processed",
              member.rank);
}

Result<Team::Runs> Team::runs_of(const Member& member, std::uint32_t kind) const {
  std::uint64_t left = items(kind, member.rank);
  const std::uint64_t per_chunk = terms_.kinds.per_chunk[kind];
  std::vector<detail::ChunkId> ids((left + per_chunk - 1) / per_chunk);
  Runs runs;
  if (ids.empty()) return runs;
  GODWIT_CHECK(
      check_cuda(cudaMemcpyAsync(ids.data(), queues_.read_table(terms_.bin(kind, member.rank)),
                                 ids.size() * sizeof ids[0], cudaMemcpyDefault, member.stream),
                 kCopying));
  GODWIT_CHECK(check_cuda(cudaStreamSynchronize(member.stream), kCopying));
  runs.reserve(ids.size());
  for (const detail::ChunkId id : ids) {
    const std::uint64_t count = std::min(left, per_chunk);
    runs.emplace_back(queues_.chunk(id), count * terms_.kinds.bytes[kind]);
    left -= count;
  }
  return runs;
}

Status Team::copy_items(const Member& member, std::uint32_t kind, std::byte* to) const {
  GODWIT_CHECK(check_cuda(cudaSetDevice(terms_.device), "using the GPU"));
  GODWIT_TRY(const Runs runs, runs_of(member, kind));
  for (const auto& run : runs) {
    GODWIT_CHECK(check_cuda(
        cudaMemcpyAsync(to, run.data(), run.size(), cudaMemcpyDefault, member.stream), kCopying));
    to += run.size();
  }
  return check_cuda(cudaStreamSynchronize(member.stream), kCopying);
}

Status Team::show_items(const Member& member, Outpost& outpost,
                        const Outpost::Holding::Show& show) const {
  Showing showing(outpost, member.rank, member.stream, show);
  for (std::uint32_t kind = 0; kind < terms_.size.kinds; ++kind) {
    if (terms_.kinds.reduced[kind]) continue;
    GODWIT_TRY(const Runs runs, runs_of(member, kind));
    for (const auto& run : runs) GODWIT_CHECK(showing.add(kind, run, terms_.kinds.bytes[kind]));
  }
  GODWIT_CHECK(showing.flush());
  return outside_ != nullptr ? outside_->show_waiting(member.rank, show) : Status{};
}

// What has come and waits for room, in the host's memory.
Status Outside::show_waiting(Rank rank, const Outpost::Holding::Show& show) const {
  for (const Guest& guest : guests_) {
    if (guest.rank != rank) continue;
    for (const auto& queue : guest.waiting) {
      for (const Arrival& arrival : queue) {
        const std::uint32_t size = terms_.kinds.bytes[arrival.chunk->kind];
        Chunk rest;
        rest.data = arrival.chunk->data + std::size_t{arrival.taken} * size;
        rest.kind = arrival.chunk->kind;
        rest.count = arrival.chunk->count - arrival.taken;
        rest.used = rest.count * size;
        rest.source = rest.destination = rank;
        GODWIT_CHECK(show(rest, Outpost::Was::held_back));
      }
    }
  }
  return {};
}

}  // namespace godwit::cuda
