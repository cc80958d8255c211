// How items of the host, its program's or a file's, get into the queues of a GPU: as if a kernel
// had emitted them in the round under way, to whichever ranks.
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
  // Who is told of items that find no room.
  enum class Refusals : std::uint8_t { of_the_round, for_finish };

  [[nodiscard]] static Result<std::unique_ptr<Loader>> create(const Terms& terms, Rank rank,
                                                              cudaStream_t stream,
                                                              Refusals refusals);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // What is put from here on belongs to this round. `queues`: of a launch of the rank's own, so
  // that its items are in order with those of others.
  void begin(const detail::Queues& queues) noexcept;
  // Any number of whole items of one kind, to one rank. A rank that does not exist is the round's
  // to refuse, as if a kernel had emitted to it.
  [[nodiscard]] Status put(std::uint32_t kind, std::span<const std::byte> items, Rank to);
  // All are on their way, before whatever is launched on the stream next.
  [[nodiscard]] Status flush();
  // The same, and waits until they are there. resource_exhausted: some had no room.
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

  Loader(const Terms& terms, Rank rank, cudaStream_t stream)
      : terms_(terms), rank_(rank), stream_(stream) {}
  [[nodiscard]] Status prepare(Refusals refusals);
  [[nodiscard]] std::uint32_t room() const noexcept;  // in the open slot, for items of the kind

  const Terms& terms_;
  const Rank rank_;
  const cudaStream_t stream_;
  detail::Queues queues_{};
  std::array<Slot, 2> slots_;
  std::size_t open_ = 0;  // the slot that is filled
  std::uint32_t filled_ = 0;
  std::uint32_t kind_ = 0;      // of what is in it
  std::uint64_t put_ = 0;       // items of this round, without those
  std::byte* items_ = nullptr;  // the GPU's copies of a slot
  std::uint32_t* to_ = nullptr;
  detail::Count* refused_ = nullptr;  // nullptr: the round's counters are used
};

}  // namespace godwit::cuda
