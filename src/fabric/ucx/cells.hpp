// The records of messages on their way out and in, and the lists they wait in.
//
// Records are reused, so that a small message allocates nothing once as many are there as are ever
// in flight together.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "wire/header.hpp"

namespace godwit::fabric::ucx {

// Bodies up to this size are copied into the record itself. Below tcp's segment size, so that UCX
// nearly always finishes such a send at once.
inline constexpr std::size_t kSmallLimit = 8192;
// Bodies up to this size may share an active message of up to kSmallLimit. Beyond, the copy into it
// costs as much as the system call it spares.
inline constexpr std::size_t kBatchedLimit = 2016;

// A send that UCX has not finished, or none yet. UCX reads header and body until then.
struct SendCell {
  SendCell* next = nullptr;
  void* transport = nullptr;
  LinkId link;
  std::uint64_t tag = 0;
  bool borrowed = false;  // the body is the caller's
  ucs_status_t status = UCS_OK;
  wire::Header header;
  Buffer copy;                               // of parts too many for an I/O vector
  alignas(64) std::byte bytes[kSmallLimit];  // a small body, or an I/O vector

  static constexpr std::size_t kMaxParts = kSmallLimit / sizeof(ucp_dt_iov_t);
};

// A message that has arrived, or whose body is arriving by rendezvous.
struct InboundCell {
  enum class Body : std::uint8_t {
    inlined,     // in `bytes`
    batch,       // several messages in `bytes`; `begun` bytes of them are delivered
    owned,       // in `buffer`
    descriptor,  // UCX's memory, to be released after delivery
    rendezvous,  // still at the sender; `data` is UCX's descriptor
    offered,     // still at the sender, which sends it as chunks when told to
    discarded,   // refused
  };

  InboundCell* next = nullptr;
  void* transport = nullptr;
  LinkId link;
  Body body = Body::inlined;
  bool control = false;  // the transport's own message, not the protocol's
  bool failed = false;   // the rendezvous broke
  bool unasked = false;  // of a body in chunks: nobody has said go
  std::size_t size = 0;
  std::uint64_t stream = 0;    // of the chunks the body comes in; 0: it does not come in chunks
  const void* lane = nullptr;  // that its chunks come on; null: none has come
  std::size_t begun = 0;       // bytes of those that arrived, or are arriving; see also `batch`
  void* data = nullptr;
  wire::Header header;
  Buffer buffer;
  alignas(64) std::byte bytes[kSmallLimit];
};

// First in, first out; links through Cell::next and owns nothing.
template <class Cell>
class CellQueue {
 public:
  void push(Cell* cell) noexcept {
    cell->next = nullptr;
    (last_ == nullptr ? first_ : last_->next) = cell;
    last_ = cell;
    ++size_;
  }
  [[nodiscard]] Cell* front() const noexcept { return first_; }
  // Null when empty.
  [[nodiscard]] Cell* pop() noexcept {
    Cell* const cell = first_;
    if (cell == nullptr) return nullptr;
    first_ = cell->next;
    if (first_ == nullptr) last_ = nullptr;
    --size_;
    return cell;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

 private:
  Cell* first_ = nullptr;
  Cell* last_ = nullptr;
  std::size_t size_ = 0;
};

// Makes cells, and keeps up to kMaxIdle for the next time; the one used last is reused first, while
// it is in the cache.
template <class Cell>
class CellPool {
 public:
  static constexpr std::size_t kMaxIdle = 1024;

  CellPool() = default;
  CellPool(const CellPool&) = delete;
  CellPool& operator=(const CellPool&) = delete;
  ~CellPool() {
    while (idle_ != nullptr) delete take();
  }
  // Null if the system is out of memory. The cell's fields are as its last user left them.
  [[nodiscard]] Cell* acquire() noexcept {
    return idle_ != nullptr ? take() : new (std::nothrow) Cell;
  }
  void release(Cell* cell) noexcept {
    if (idle_count_ == kMaxIdle) {
      delete cell;
      return;
    }
    cell->next = idle_;
    idle_ = cell;
    ++idle_count_;
  }

 private:
  Cell* take() noexcept {
    Cell* const cell = idle_;
    idle_ = cell->next;
    --idle_count_;
    return cell;
  }

  Cell* idle_ = nullptr;
  std::size_t idle_count_ = 0;
};

}  // namespace godwit::fabric::ucx
