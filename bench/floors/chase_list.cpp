#include "floors/chase_list.hpp"

#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <utility>

#include "base/fail.hpp"

namespace godwit::floors {

Result<ChaseList> ChaseList::create(std::uint64_t elements) {
  if (!std::has_single_bit(elements)) {
    return fail(ErrorCode::invalid_argument, "a list to chase has 2^n elements, not {}", elements);
  }
  const std::size_t bytes = elements * sizeof(std::uint64_t);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(ErrorCode::out_of_memory, "a list of {} elements: mmap: {}", elements,
                errno_text(errno));
  }
  ChaseList list(static_cast<std::uint64_t*>(memory), elements);
  const ChaseOrder order(elements);
  for (std::uint64_t i = 0; i < elements; ++i) list.next_[i] = order.next(i);
  return list;
}

ChaseList::ChaseList(ChaseList&& other) noexcept
    : next_(std::exchange(other.next_, nullptr)), elements_(std::exchange(other.elements_, 0)) {}

ChaseList& ChaseList::operator=(ChaseList&& other) noexcept {
  std::swap(next_, other.next_);
  std::swap(elements_, other.elements_);
  return *this;
}

ChaseList::~ChaseList() {
  if (next_ != nullptr) ::munmap(next_, elements_ * sizeof(std::uint64_t));
}

}  // namespace godwit::floors
