#include "fabric/shm/ring.hpp"

#include <sys/mman.h>

#include <bit>
#include <cerrno>

#include "base/fail.hpp"

namespace godwit::fabric::shm {

Result<Mapping> map_ring(int fd, std::size_t ring_size, Access access) {
  const auto refuse = [](const char* what) {
    return fail(ErrorCode::resource_exhausted,
                "cannot {}: {}; close links, or raise the limits on memory", what,
                errno_text(errno));
  };
  const int rights = access == Access::write ? PROT_READ | PROT_WRITE : PROT_READ;
  const std::size_t total = kPageSize + 2 * ring_size;
  void* reserved = ::mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) return refuse("reserve address space for a ring");
  Mapping mapping(static_cast<std::byte*>(reserved), total);
  const auto place = [&](std::size_t at, std::size_t size, std::size_t offset, int protection) {
    return ::mmap(mapping.data() + at, size, protection, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
                  static_cast<off_t>(offset)) != MAP_FAILED;
  };
  if (!place(0, kPageSize, 0, PROT_READ | PROT_WRITE) ||
      !place(kPageSize, ring_size, kPageSize, rights) ||
      !place(kPageSize + ring_size, ring_size, kPageSize, rights))
    return refuse("map a ring");
  return mapping;
}

Result<RingProducer> RingProducer::open(const Fd& memory, std::size_t ring_size) {
  if (!std::has_single_bit(ring_size) || ring_size < kMinRingSize || ring_size > kMaxRingSize)
    return fail(ErrorCode::protocol_violation, "the peer offered a ring of {} bytes", ring_size);
  GODWIT_CHECK(check_memory(memory.get(), kPageSize + ring_size));
  RingProducer ring;
  GODWIT_TRY(ring.mapping_, map_ring(memory.get(), ring_size, Access::write));
  ring.size_ = ring_size;
  return ring;
}

bool RingProducer::refresh_head() noexcept {
  const std::uint64_t head = header().head.load(std::memory_order_acquire);
  if (head < head_ || head > tail_) {
    violated_ = true;
    return false;
  }
  head_ = head;
  return true;
}

Result<RingConsumer> RingConsumer::create(std::size_t ring_size) {
  RingConsumer ring;
  GODWIT_TRY(ring.memory_, create_memory("godwit-ring", kPageSize + ring_size));
  GODWIT_TRY(ring.mapping_, map_ring(ring.memory_.get(), ring_size, Access::read));
  ring.size_ = ring_size;
  return ring;
}

bool RingConsumer::publish() noexcept {
  published_ = position_;
  header().head.store(position_, std::memory_order_seq_cst);
  full_fence();
  if (header().want_space.load(std::memory_order_seq_cst) == 0) return false;
  // Before whoever calls this looks whether the producer sleeps: later, it would undo the wish of
  // one that finds too little room once more and sleeps, and is then never rung for.
  header().want_space.store(0, std::memory_order_seq_cst);
  return true;
}

}  // namespace godwit::fabric::shm
