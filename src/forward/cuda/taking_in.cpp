// How items that come from outside get into the queues of a team's ranks.
#include <algorithm>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

#include "base/fail.hpp"
#include "forward/cuda/cuda_error.hpp"
#include "forward/cuda/outside.hpp"

namespace godwit::cuda {

using forward::Chunk;
using godwit::detail::give_back;

namespace {

constexpr const char* kFromGpu = "copying items from another GPU";
// Less than that is copied before other threads have begun.
constexpr std::size_t kAlone = std::size_t{8} << 20;
// So many are copied by as many calls as soon as by a kernel.
constexpr std::uint32_t kFewPieces = 4;

Status copy_alone(const Piece& piece, cudaStream_t stream) {
  return check_cuda(cudaMemcpyAsync(piece.to, piece.from, piece.bytes, cudaMemcpyDefault, stream),
                    kFromGpu);
}

}  // namespace

// What comes may fill half of the memory, since kernels need the other half for what they make of
// it; the rest waits in the host's memory. If nothing else is there, one chunk always goes on. When
// no kernel will follow, since no item is left but those to be reduced, all of the memory serves.
std::uint64_t Outside::room(const TeamRound& round, std::uint64_t alive) const noexcept {
  if (alive == 0) return std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t all = std::uint64_t{terms_.size.device_chunks} + terms_.size.host_chunks;
  const std::uint64_t half = all / 2;
  const std::uint64_t free = round.chunks < half ? half - round.chunks : 0;
  const std::uint64_t share = free * guests_.size() / terms_.members;
  return round.chunks == 0 ? std::max<std::uint64_t>(share, 1) : share;
}

std::vector<Outside::Request> Outside::make_requests(const TeamRound& round, std::uint64_t room) {
  std::vector<Request> requests;
  std::uint32_t ids = 0;
  for (Guest& guest : guests_) {
    for (std::uint32_t kind = 0; kind < terms_.size.kinds; ++kind) {
      const std::uint64_t wanted = guest.items(kind);
      if (wanted == 0) continue;
      const std::uint32_t bin = terms_.bin(kind, guest.rank);
      const std::uint64_t per_chunk = terms_.kinds.per_chunk[kind];
      const std::uint64_t had = (round.items[bin] + per_chunk - 1) / per_chunk;
      const std::uint64_t needed = (round.items[bin] + wanted + per_chunk - 1) / per_chunk - had;
      const std::uint64_t all = std::uint64_t{terms_.size.device_chunks} + terms_.size.host_chunks;
      const std::uint64_t asked = std::min({needed, room, all - std::min<std::uint64_t>(ids, all)});
      room -= asked;
      extensions_[requests.size()] = {.bin = bin,
                                      .per_chunk = static_cast<std::uint32_t>(per_chunk),
                                      .room = static_cast<std::uint32_t>(asked),
                                      .ids_at = ids,
                                      .wanted = wanted};
      ids += static_cast<std::uint32_t>(asked) + 1;
      requests.push_back({.guest = &guest, .kind = kind});
    }
  }
  return requests;
}

Status Outside::take_in(const TeamRound& round, std::uint64_t alive) {
  const std::vector<Request> requests = make_requests(round, room(round, alive));
  if (requests.empty()) return {};
  constexpr const char* kWhat = "making room for items from other ranks";
  GODWIT_CHECK(
      check_cuda(extend(round.queues, extensions_.data(),
                        static_cast<std::uint32_t>(requests.size()), ids_.data(), round.stream),
                 kWhat));
  GODWIT_CHECK(check_cuda(cudaStreamSynchronize(round.stream), kWhat));
  Batch done;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    GODWIT_CHECK(copy_in(round, requests[i], extensions_[i], done));
  }
  GODWIT_CHECK(gather(round.stream));
  GODWIT_CHECK(launch_copies(round.stream));
  GODWIT_CHECK(check_cuda(cudaStreamSynchronize(round.stream), "copying items to a GPU"));
  GODWIT_CHECK(keep_the_rest());
  for (const Guest& guest : guests_) {
    if (alive > 0 || guest.items() == 0) continue;
    return fail(ErrorCode::resource_exhausted,
                "{} items to be reduced came to rank {} from ranks outside its GPU at the end, "
                "which has no room for them; raise Options::queue_bytes",
                guest.items(), guest.rank);
  }
  return {};
}

Status Outside::copy_in(const TeamRound& round, const Request& request, const Extension& extension,
                        Batch& done) {
  const std::uint32_t size = terms_.kinds.bytes[request.kind];
  const std::uint64_t per_chunk = extension.per_chunk;
  std::uint64_t& items = round.items[extension.bin];
  const std::uint64_t first_chunk = items / per_chunk;
  std::uint64_t left = extension.granted;
  auto& waiting = request.guest->waiting[request.kind];
  while (left > 0) {
    Arrival& arrival = waiting.front();
    Chunk& chunk = *arrival.chunk;
    const std::uint64_t offset = items % per_chunk;
    const auto count = static_cast<std::uint32_t>(
        std::min<std::uint64_t>({left, chunk.count - arrival.taken, per_chunk - offset}));
    const detail::ChunkId id = ids_[extension.ids_at + (items / per_chunk - first_chunk)];
    std::byte* const to = round.queues.chunk(id) + offset * size;
    const std::byte* const from = chunk.items() + std::size_t{arrival.taken} * size;
    const std::size_t bytes = std::size_t{count} * size;
    if (chunk.kept == Chunk::Kept::lent) {
      GODWIT_CHECK(copy_from_gpu({to, from, bytes}, chunk.source, round.stream));
    } else {
      from_host_.push_back({to, from, bytes});
    }
    arrival.taken += count;
    items += count;
    left -= count;
    if (arrival.taken < chunk.count) continue;
    done.chunks.push_back(&chunk);
    waiting.pop_front();
  }
  return {};
}

// By several threads if it is much: one moves less than the bus takes.
Status Outside::gather(cudaStream_t stream) {
  std::size_t bytes = 0;
  for (const Piece& piece : from_host_) bytes += piece.bytes;
  const std::size_t hands = bytes < kAlone ? 1 : stagers_.size();
  std::vector<Status> ends(hands);
  const auto copy_share = [&](std::size_t hand) {
    Status& end = ends[hand];
    end = check_cuda(cudaSetDevice(terms_.device), "copying items to a GPU");
    const std::size_t after = from_host_.size() * (hand + 1) / hands;
    for (std::size_t i = from_host_.size() * hand / hands; i < after && end; ++i) {
      const Piece& piece = from_host_[i];
      end = stagers_[hand]->copy(piece.to, piece.from, piece.bytes, stream);
    }
    if (end) end = stagers_[hand]->flush(stream);
  };
  std::vector<std::thread> helpers;
  for (std::size_t hand = 1; hand < hands; ++hand) {
    try {
      helpers.emplace_back(copy_share, hand);
    } catch (const std::system_error&) {
      copy_share(hand);  // no thread is to be had
    }
  }
  copy_share(0);
  for (std::thread& helper : helpers) helper.join();
  from_host_.clear();
  for (Status& end : ends) GODWIT_CHECK(std::move(end));
  return {};
}

Status Outside::copy_from_gpu(const Piece& piece, Rank of, cudaStream_t stream) {
  if (!terms_.is_readable(of)) return copy_alone(piece, stream);
  pieces_[pieces_count_++] = piece;
  if (pieces_count_ < kMaxPieces) return {};
  GODWIT_CHECK(launch_copies(stream));
  return check_cuda(cudaStreamSynchronize(stream), kFromGpu);  // the list is written anew
}

Status Outside::launch_copies(cudaStream_t stream) {
  const std::uint32_t count = std::exchange(pieces_count_, 0);
  if (count > kFewPieces) {
    return check_cuda(copy_pieces(pieces_.data(), count, stream), kFromGpu);
  }
  for (std::uint32_t i = 0; i < count; ++i) GODWIT_CHECK(copy_alone(pieces_[i], stream));
  return {};
}

// What waits does so in memory of the host: a GPU that lent its own needs that for the next round.
Status Outside::keep_the_rest() {
  for (Guest& guest : guests_) {
    for (auto& queue : guest.waiting) {
      for (Arrival& arrival : queue) {
        Chunk* const theirs = arrival.chunk;
        if (theirs->kept != Chunk::Kept::lent) continue;
        const std::size_t size = theirs->used / theirs->count;
        const std::uint32_t count = theirs->count - arrival.taken;
        Chunk* const ours = guest.outpost->take_chunk(count * size);
        if (ours == nullptr) {
          return fail(ErrorCode::out_of_memory, "the host has no memory for {} items of rank {}",
                      count, guest.rank);
        }
        ours->kind = theirs->kind;
        ours->count = count;
        ours->used = static_cast<std::uint32_t>(count * size);
        const Status copied =
            check_cuda(cudaMemcpy(ours->items(), theirs->items() + arrival.taken * size, ours->used,
                                  cudaMemcpyDefault),
                       "copying items that wait for room");
        give_back(theirs);
        arrival = {.chunk = ours};
        GODWIT_CHECK(copied);
      }
    }
  }
  return {};
}

}  // namespace godwit::cuda
