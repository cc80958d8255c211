#include "fabric/shm/ring.hpp"

#include <bit>

#include "base/fail.hpp"

namespace godwit::fabric::shm {

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
  header().want_space.store(0, std::memory_order_relaxed);
  return true;
}

}  // namespace godwit::fabric::shm
