#include "forward/cuda/outside.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/fail.hpp"
#include "forward/cuda/cuda_error.hpp"

namespace godwit::cuda {

using forward::Chunk;
using forward::Outpost;
using godwit::detail::give_back;

namespace {

// A quarter of the GPU's: long enough for the bus, short enough for rounds with few items.
constexpr std::size_t kOutChunkBytes = 256 * 1024;
// Chunks that are copied before the first of them leaves.
constexpr std::size_t kBatch = 64;
// How often who waits for another team looks whether it is still there.
constexpr std::chrono::milliseconds kLook{20};

}  // namespace

ExchangeOptions outpost_options(const Options& options) {
  return {.chunk_bytes = kOutChunkBytes + sizeof(Chunk),
          .queue_bytes = options.outside_bytes,
          .deterministic = options.deterministic,
          .trace_events = options.trace_events,
          .patience = options.patience};
}

Outside::Batch::~Batch() {
  for (Chunk* const chunk : chunks) give_back(chunk);
}

std::uint64_t Outside::Guest::items(std::uint32_t kind) const noexcept {
  std::uint64_t sum = 0;
  for (const Arrival& arrival : waiting[kind]) sum += arrival.chunk->count - arrival.taken;
  return sum;
}

std::uint64_t Outside::Guest::items() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t kind = 0; kind < detail::kMaxKinds; ++kind) sum += items(kind);
  return sum;
}

Result<std::unique_ptr<Outside>> Outside::create(const Terms& terms, std::span<const Rank> local,
                                                 Lender::Memory memory, bool sends) {
  std::unique_ptr<Outside> outside(new Outside(terms, sends));
  outside->lender_.reset(new Lender(std::move(memory)));
  const std::size_t hands = std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, 4);
  while (outside->stagers_.size() < hands) {
    GODWIT_TRY(auto stager, Stager::create());
    outside->stagers_.push_back(std::move(stager));
  }
  const std::size_t bins = std::size_t{terms.size.kinds} * terms.size.ranks;
  const std::size_t chunks = std::size_t{terms.size.device_chunks} + terms.size.host_chunks;
  GODWIT_CHECK(outside->ids_.allocate(chunks + bins));
  GODWIT_CHECK(outside->extensions_.allocate(bins));
  GODWIT_CHECK(outside->pieces_.allocate(kMaxPieces));
  outside->guests_.resize(local.size());
  for (std::size_t i = 0; i < local.size(); ++i) outside->guests_[i].rank = local[i];
  return outside;
}

Outside::~Outside() {
  for (const Guest& guest : guests_) dismiss(guest.rank);
}

void Outside::admit(Rank rank, Outpost& outpost) {
  std::find_if(guests_.begin(), guests_.end(), [&](const Guest& guest) {
    return guest.rank == rank;
  })->outpost = &outpost;
}

void Outside::dismiss(Rank rank) noexcept {
  for (Guest& guest : guests_) {
    if (guest.rank != rank) continue;
    guest.outpost = nullptr;
    for (auto& queue : guest.waiting) {
      for (const Arrival& arrival : queue) give_back(arrival.chunk);
      queue.clear();
    }
  }
}

void Outside::break_off(const Error& why) noexcept {
  for (const Guest& guest : guests_) {
    if (guest.outpost != nullptr) guest.outpost->break_off(why);
  }
}

Status Outside::await_copies() {
  const auto deadline = std::chrono::steady_clock::now() + terms_.patience;
  while (sends_ && !lender_->await_all(kLook)) {
    GODWIT_CHECK(guests_.front().outpost->look_around());
    if (std::chrono::steady_clock::now() < deadline) continue;
    return fail(ErrorCode::deadline,
                "ranks on other GPUs of this process have not copied their items within {} ms; if "
                "that is to be expected, raise Options::patience",
                terms_.patience.count());
  }
  return {};
}

Result<WholeRound> Outside::exchange(const TeamRound& round) {
  if (sends_) GODWIT_CHECK(send(round));
  for (const Guest& guest : guests_) {
    const bool speaks = sends_ && &guest == &guests_.front();
    GODWIT_CHECK(guest.outpost->begin_round({.emitted = speaks ? emitted_inside(round) : 0,
                                             .held_back = guest.items(),
                                             .wants_save = round.wants_save && guest.rank == 0}));
  }
  WholeRound all;
  for (Guest& guest : guests_) {
    GODWIT_TRY(const Outpost::Arrived arrived, guest.outpost->end_round());
    for (Chunk* const chunk : arrived.chunks) guest.waiting[chunk->kind].push_back({chunk});
    all = {.alive = arrived.round.alive,
           .held_back = arrived.round.held_back,
           .is_to_be_saved = arrived.is_to_be_saved};
  }
  GODWIT_CHECK(take_in(round, all.alive));
  return all;
}

// For the whole team: its first rank tells of them.
std::uint64_t Outside::emitted_inside(const TeamRound& round) const noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t kind = 0; kind < terms_.size.kinds; ++kind) {
    if (terms_.kinds.reduced[kind]) continue;
    for (Rank rank = 0; rank < static_cast<Rank>(terms_.size.ranks); ++rank) {
      if (terms_.is_inside(rank)) sum += round.items[terms_.bin(kind, rank)];
    }
  }
  return sum;
}

Status Outside::send(const TeamRound& round) {
  struct Bin {
    std::uint32_t kind;
    Rank to;
    std::size_t ids_at;
  };
  std::vector<Bin> bins;
  std::size_t ids = 0;
  for (std::uint32_t kind = 0; kind < terms_.size.kinds; ++kind) {
    for (Rank to = 0; to < static_cast<Rank>(terms_.size.ranks); ++to) {
      const std::uint32_t bin = terms_.bin(kind, to);
      if (terms_.is_inside(to) || round.items[bin] == 0) continue;
      const std::uint64_t per_chunk = terms_.kinds.per_chunk[kind];
      const std::size_t chunks = (round.items[bin] + per_chunk - 1) / per_chunk;
      bins.push_back({kind, to, ids});
      GODWIT_CHECK(check_cuda(
          cudaMemcpyAsync(ids_.data() + ids, round.queues.read_table(bin),
                          chunks * sizeof(detail::ChunkId), cudaMemcpyDefault, round.stream),
          "listing items for other ranks"));
      ids += chunks;
    }
  }
  if (bins.empty()) return {};
  GODWIT_CHECK(check_cuda(cudaStreamSynchronize(round.stream), "listing items for other ranks"));
  Batch batch;
  for (const Bin& bin : bins) {
    GODWIT_CHECK(send_bin(round, bin.kind, bin.to, ids_.data() + bin.ids_at, batch));
  }
  return depart(batch, round.stream);
}

Status Outside::send_bin(const TeamRound& round, std::uint32_t kind, Rank to,
                         const detail::ChunkId* ids, Batch& batch) {
  const Outpost& outpost = *guests_.front().outpost;
  const bool lends = outpost.is_elsewhere(to) && outpost.hands_over(to);
  const std::uint64_t per_chunk = terms_.kinds.per_chunk[kind];
  std::uint64_t left = round.items[terms_.bin(kind, to)];
  for (; left > 0; ++ids) {
    const std::uint64_t count = std::min(left, per_chunk);
    std::byte* const items = round.queues.chunk(*ids);
    if (lends) {
      GODWIT_CHECK(lend(items, kind, to, count));
    } else {
      GODWIT_CHECK(copy_out(round, items, kind, to, count, batch));
    }
    left -= count;
  }
  return {};
}

Status Outside::lend(std::byte* items, std::uint32_t kind, Rank to, std::uint64_t count) {
  Chunk* const chunk = lender_->lend(items);
  chunk->kind = static_cast<std::uint16_t>(kind);
  chunk->destination = to;
  chunk->count = static_cast<std::uint32_t>(count);
  chunk->used = chunk->capacity = chunk->count * terms_.kinds.bytes[kind];
  return guests_.front().outpost->send_chunk(chunk);
}

Status Outside::copy_out(const TeamRound& round, const std::byte* items, std::uint32_t kind,
                         Rank to, std::uint64_t count, Batch& batch) {
  const std::uint32_t size = terms_.kinds.bytes[kind];
  const std::uint64_t at_once = kOutChunkBytes / size;
  for (std::uint64_t done = 0; done < count; done += at_once) {
    const auto piece = static_cast<std::uint32_t>(std::min(at_once, count - done));
    Chunk* const chunk = guests_.front().outpost->take_chunk(std::size_t{piece} * size);
    if (chunk == nullptr) {
      return fail(ErrorCode::out_of_memory, "the host has no memory for {} items for rank {}",
                  piece, to);
    }
    batch.chunks.push_back(chunk);
    chunk->kind = static_cast<std::uint16_t>(kind);
    chunk->destination = to;
    chunk->count = piece;
    chunk->used = piece * size;
    GODWIT_CHECK(check_cuda(cudaMemcpyAsync(chunk->items(), items + done * size, chunk->used,
                                            cudaMemcpyDefault, round.stream),
                            "copying items from a GPU"));
    if (batch.chunks.size() >= kBatch) GODWIT_CHECK(depart(batch, round.stream));
  }
  return {};
}

Status Outside::depart(Batch& batch, cudaStream_t stream) {
  GODWIT_CHECK(check_cuda(cudaStreamSynchronize(stream), "copying items from a GPU"));
  while (!batch.chunks.empty()) {
    Chunk* const chunk = batch.chunks.back();
    batch.chunks.pop_back();
    GODWIT_CHECK(guests_.front().outpost->send_chunk(chunk));
  }
  return {};
}

}  // namespace godwit::cuda
