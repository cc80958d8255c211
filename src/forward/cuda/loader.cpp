#include "forward/cuda/loader.hpp"

#include <algorithm>
#include <cstring>

#include "base/fail.hpp"
#include "forward/cuda/cuda_error.hpp"
#include "forward/cuda/put_items.hpp"

namespace godwit::cuda {

using detail::Count;
using detail::Queues;

namespace {

constexpr const char* kLoading = "loading items to a GPU";

}  // namespace

Result<std::unique_ptr<Loader>> Loader::create(const Terms& terms, Rank rank, cudaStream_t stream,
                                               Refusals refusals) {
  std::unique_ptr<Loader> loader(new Loader(terms, rank, stream));
  GODWIT_CHECK(loader->prepare(refusals));
  return loader;
}

Status Loader::prepare(Refusals refusals) {
  for (Slot& slot : slots_) {
    GODWIT_CHECK(slot.items.allocate(kSlotBytes));
    GODWIT_CHECK(slot.to.allocate(kSlotItems));
    GODWIT_CHECK(
        check_cuda(cudaEventCreateWithFlags(&slot.sent, cudaEventDisableTiming), kLoading));
  }
  void* memory = nullptr;
  constexpr std::size_t kToBytes = kSlotItems * sizeof(std::uint32_t);
  GODWIT_CHECK(check_cuda(cudaMalloc(&memory, kSlotBytes + kToBytes + sizeof(Count)), kLoading));
  items_ = static_cast<std::byte*>(memory);
  to_ = reinterpret_cast<std::uint32_t*>(items_ + kSlotBytes);
  if (refusals == Refusals::of_the_round) return {};
  refused_ = reinterpret_cast<Count*>(items_ + kSlotBytes + kToBytes);
  return check_cuda(cudaMemsetAsync(refused_, 0, sizeof *refused_, stream_), kLoading);
}

void Loader::begin(const Queues& queues) noexcept {
  queues_ = queues;
  put_ = 0;
}

Loader::~Loader() {
  cudaStreamSynchronize(stream_);
  for (const Slot& slot : slots_) {
    if (slot.sent != nullptr) cudaEventDestroy(slot.sent);
  }
  cudaFree(items_);
}

std::uint32_t Loader::room() const noexcept {
  const auto items = static_cast<std::uint32_t>(kSlotBytes / terms_.kinds.bytes[kind_]);
  return std::min(items, kSlotItems) - filled_;
}

Status Loader::put(std::uint32_t kind, std::span<const std::byte> items, Rank to) {
  if (kind != kind_) GODWIT_CHECK(flush());
  kind_ = kind;
  const std::size_t size = terms_.kinds.bytes[kind];
  while (!items.empty()) {
    Slot& slot = slots_[open_];
    if (filled_ == 0) GODWIT_CHECK(check_cuda(cudaEventSynchronize(slot.sent), kLoading));
    const std::size_t count = std::min<std::size_t>(items.size() / size, room());
    std::memcpy(slot.items.data() + filled_ * size, items.data(), count * size);
    std::fill_n(slot.to.data() + filled_, count, static_cast<std::uint32_t>(to));
    filled_ += static_cast<std::uint32_t>(count);
    items = items.subspan(count * size);
    if (room() == 0) GODWIT_CHECK(flush());
  }
  return {};
}

Status Loader::flush() {
  if (filled_ == 0) return {};
  const Slot& slot = slots_[open_];
  const PutItems put{.items = items_,
                     .to = to_,
                     .count = filled_,
                     .kind = kind_,
                     .bytes = terms_.kinds.bytes[kind_],
                     .per_chunk = terms_.kinds.per_chunk[kind_],
                     .first_key = detail::key_of(rank_, queues_.launch, 0, put_),
                     .refused = refused_};
  GODWIT_CHECK(
      check_cuda(cudaMemcpyAsync(items_, slot.items.data(), std::size_t{filled_} * put.bytes,
                                 cudaMemcpyDefault, stream_),
                 kLoading));
  GODWIT_CHECK(check_cuda(
      cudaMemcpyAsync(to_, slot.to.data(), filled_ * sizeof *to_, cudaMemcpyDefault, stream_),
      kLoading));
  GODWIT_CHECK(check_cuda(cudaEventRecord(slot.sent, stream_), kLoading));
  GODWIT_CHECK(check_cuda(put_items(queues_, put, stream_), kLoading));
  put_ += filled_;
  filled_ = 0;
  open_ = (open_ + 1) % slots_.size();
  return {};
}

Status Loader::finish() {
  GODWIT_CHECK(flush());
  Count refused = 0;
  GODWIT_CHECK(check_cuda(
      cudaMemcpyAsync(&refused, refused_, sizeof refused, cudaMemcpyDefault, stream_), kLoading));
  GODWIT_CHECK(check_cuda(cudaStreamSynchronize(stream_), kLoading));
  if (refused == 0) return {};
  return fail(ErrorCode::resource_exhausted,
              "{} of {} items of a checkpoint found no room on the GPU of rank {}: raise "
              "Options::queue_bytes or spill_bytes",
              refused, put_, rank_);
}

}  // namespace godwit::cuda
