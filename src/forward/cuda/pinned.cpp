#include "forward/cuda/pinned.hpp"

#include <cstdlib>
#include <cstring>

#include "base/fail.hpp"

namespace godwit::cuda {
namespace {

constexpr std::size_t kPage = 4096;
// That of large pages; slabs of the pool have about this size.
constexpr std::size_t kSlabAlign = std::size_t{2} << 20;

}  // namespace

// In whole pages: memory is pinned by pages, and a copy must not begin in pinned memory and end in
// other.
std::byte* PinnedArena::allocate(std::size_t bytes) noexcept {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  Slab slab;
  if (inner_ != nullptr) slab.memory = inner_->allocate(bytes);
  if (slab.memory == nullptr) {
    bytes = (bytes + kSlabAlign - 1) / kSlabAlign * kSlabAlign;
    slab.memory = static_cast<std::byte*>(std::aligned_alloc(kSlabAlign, bytes));
    slab.from_heap = true;
  }
  if (slab.memory == nullptr) return nullptr;
  slab.is_pinned = reinterpret_cast<std::uintptr_t>(slab.memory) % kPage == 0 &&
                   cudaHostRegister(slab.memory, bytes, cudaHostRegisterPortable) == cudaSuccess;
  if (!slab.is_pinned) (void)cudaGetLastError();  // it is nobody else's concern
  slabs_.push_back(slab);
  return slab.memory;
}

PinnedArena::~PinnedArena() {
  for (const Slab& slab : slabs_) {
    if (slab.is_pinned) cudaHostUnregister(slab.memory);
    if (slab.from_heap) std::free(slab.memory);
  }
}

Result<std::unique_ptr<Stager>> Stager::create() {
  std::unique_ptr<Stager> stager(new Stager);
  GODWIT_CHECK(stager->memory_.allocate(kSlots * kSlotBytes));
  for (cudaEvent_t& sent : stager->sent_) {
    GODWIT_CHECK(check_cuda(cudaEventCreateWithFlags(&sent, cudaEventDisableTiming),
                            "preparing to copy items to a GPU"));
  }
  return stager;
}

Stager::~Stager() {
  for (const cudaEvent_t sent : sent_) {
    if (sent != nullptr) cudaEventDestroy(sent);
  }
}

Status Stager::copy(std::byte* to, const std::byte* from, std::size_t bytes, cudaStream_t stream) {
  const bool follows = filled_ > 0 && to == target_ + filled_;
  if (!follows || filled_ + bytes > kSlotBytes) GODWIT_CHECK(flush(stream));
  if (filled_ == 0) {
    GODWIT_CHECK(check_cuda(cudaEventSynchronize(sent_[slot_]), "copying items to a GPU"));
    target_ = to;
  }
  std::memcpy(memory_.data() + slot_ * kSlotBytes + filled_, from, bytes);
  filled_ += bytes;
  return {};
}

Status Stager::flush(cudaStream_t stream) {
  if (filled_ == 0) return {};
  constexpr const char* kWhat = "copying items to a GPU";
  GODWIT_CHECK(check_cuda(cudaMemcpyAsync(target_, memory_.data() + slot_ * kSlotBytes, filled_,
                                          cudaMemcpyDefault, stream),
                          kWhat));
  GODWIT_CHECK(check_cuda(cudaEventRecord(sent_[slot_], stream), kWhat));
  filled_ = 0;
  slot_ = (slot_ + 1) % kSlots;
  return {};
}

}  // namespace godwit::cuda
