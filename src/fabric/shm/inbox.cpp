#include "fabric/shm/inbox.hpp"

#include <sys/mman.h>

#include <cstring>
#include <utility>

namespace godwit::fabric::shm {
namespace {

constexpr std::size_t kHugePage = 2 * 1024 * 1024;

void unmap(void* start, std::byte* data, std::size_t size) noexcept {
  const auto lead = static_cast<std::size_t>(data - static_cast<std::byte*>(start));
  ::munmap(start, lead + size);
}

}  // namespace

Buffer allocate_body(std::size_t size) noexcept {
  if (size < kHugePage) return Buffer::allocate(size);
  if (size > SIZE_MAX - kHugePage) return {};
  const std::size_t total = size + kHugePage;
  void* start = ::mmap(nullptr, total, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  auto* data = static_cast<std::byte*>(start) + (kHugePage - address % kHugePage) % kHugePage;
  ::madvise(data, size, MADV_HUGEPAGE);
  return Buffer::adopt(data, size, start, &unmap);
}

Inbox::~Inbox() {
  for (const Stream& stream : streams_)
    if (stream.active && !stream.discarded) budget_->used -= stream.size;
}

bool Inbox::begin(std::uint8_t slot, const wire::Header& header, std::uint64_t size) {
  Stream& stream = streams_[slot];
  if (stream.active || size == 0) return false;
  stream.header = header;
  stream.size = stream.left = size;
  stream.active = true;
  stream.discarded = size > budget_->limit - budget_->used;
  if (stream.discarded) return true;
  stream.body = allocate_body(size);
  stream.discarded = stream.body.size() != size;
  if (!stream.discarded) budget_->used += size;
  return true;
}

bool Inbox::append(std::uint8_t slot, Bytes bytes) {
  Stream& stream = streams_[slot];
  if (!stream.active || bytes.empty() || bytes.size() > stream.left) return false;
  if (!stream.discarded)
    std::memcpy(stream.body.data() + (stream.size - stream.left), bytes.data(), bytes.size());
  stream.left -= bytes.size();
  return true;
}

Inbox::Arrived Inbox::take(std::uint8_t slot) {
  Stream& stream = streams_[slot];
  stream.active = false;
  if (!stream.discarded) budget_->used -= stream.size;
  return {stream.header, std::move(stream.body), stream.discarded};
}

}  // namespace godwit::fabric::shm
