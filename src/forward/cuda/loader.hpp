// How items that come from a file get into the queues of a GPU: as if a kernel had emitted them in
// the round under way, to whichever ranks.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "forward/cuda/pinned.hpp"
#include "forward/cuda/terms.hpp"
#include "godwit/error.hpp"

namespace godwit::cuda {

// Of one rank. Copies a megabyte at a time, through memory that it has for as long as it lives.
class Loader {
 public:
  // `queues`: of a launch of the rank's own, so that its items are in order with those of others.
  [[nodiscard]] static Result<std::unique_ptr<Loader>> create(const Terms& terms,
                                                              const detail::Queues& queues,
                                                              Rank rank, cudaStream_t stream);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Any number of whole items of one kind. invalid_argument: there is no such rank.
  [[nodiscard]] Status put(std::uint32_t kind, std::span<const std::byte> items, Rank to);
  // Waits until all are there. resource_exhausted: some had no room.
  [[nodiscard]] Status finish();

 private:
  // What is on its way together.
  struct Slot {
    PinnedArray<std::byte> items;
    PinnedArray<std::uint32_t> to;
    cudaEvent_t sent = nullptr;  // both may be written again
  };
  static constexpr std::size_t kSlotBytes = std::size_t{1} << 20;
  static constexpr std::uint32_t kSlotItems = 64 * 1024;

  Loader(const Terms& terms, const detail::Queues& queues, Rank rank, cudaStream_t stream)
      : terms_(terms), queues_(queues), rank_(rank), stream_(stream) {}
  [[nodiscard]] Status prepare();
  [[nodiscard]] Status flush();
  [[nodiscard]] std::uint32_t room() const noexcept;  // in the open slot, for items of the kind

  const Terms& terms_;
  const detail::Queues queues_;
  const Rank rank_;
  const cudaStream_t stream_;
  std::array<Slot, 2> slots_;
  std::size_t open_ = 0;  // the slot that is filled
  std::uint32_t filled_ = 0;
  std::uint32_t kind_ = 0;      // of what is in it
  std::uint64_t put_ = 0;       // items, ever
  std::byte* items_ = nullptr;  // the GPU's copies of a slot
  std::uint32_t* to_ = nullptr;
  detail::Count* refused_ = nullptr;
};

}  // namespace godwit::cuda
