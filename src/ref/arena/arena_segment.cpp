#include "ref/arena/arena_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "base/fail.hpp"
#include "base/sanitizers.hpp"

namespace godwit::ref {
namespace {

// Populating through the page tables is a quarter faster than touching each page, leaves pages that
// can be written without a further fault, and reports what a touch would die of. Systems before
// Linux 5.14 lack it.
Status touch_all(const fabric::Fd& memory, const fabric::Mapping& mapping) {
  ::madvise(mapping.data(), mapping.size(),
            MADV_HUGEPAGE);  // where the system lets shmem have them
  if (::madvise(mapping.data(), mapping.size(), MADV_POPULATE_WRITE) == 0) return {};
  int error = errno;
  if (error == EINVAL) {
    if (::fallocate(memory.get(), 0, 0, static_cast<off_t>(mapping.size())) == 0) return {};
    error = errno;
  }
  return fail(
      ErrorCode::resource_exhausted,
      "no memory for {} bytes of objects: {}; evict objects, or lower the budget of objects",
      mapping.size(), errno_text(error));
}

}  // namespace

Result<TouchedMemory> TouchedMemory::create(std::size_t bytes) {
  GODWIT_TRY(fabric::Fd memory, fabric::create_memory("godwit-objects", bytes));
  GODWIT_TRY(fabric::Mapping mapping, fabric::map_memory(memory.get(), bytes, fabric::Access::write,
                                                         fabric::Pages::on_demand));
  TouchedMemory made(std::move(memory), std::move(mapping));
  GODWIT_CHECK(touch_all(made.memory_, made.mapping_));
  GODWIT_POISON(made.data(), made.size());
  return made;
}

// Unmapped first: a page that is mapped here takes longer to free.
TouchedMemory::~TouchedMemory() {
  if (mapping_.data() == nullptr) return;
  const std::size_t size = mapping_.size();
  GODWIT_UNPOISON(mapping_.data(), size);
  {
    const fabric::Mapping unmapped = std::move(mapping_);
  }
  ::fallocate(memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
              static_cast<off_t>(size));
}

ArenaSegment::ArenaSegment(std::uint64_t its_id, TouchedMemory its_memory, std::size_t chunk_bytes)
    : id(its_id), memory(std::move(its_memory)) {
  if (chunk_bytes == 0) return;
  constexpr std::size_t kSmallestSlot = 64;
  for (std::size_t offset = 0; offset < memory.size(); offset += chunk_bytes) {
    chunks.emplace_back(*this, offset, chunk_bytes / kSmallestSlot);
  }
  free_chunks.reserve(chunks.size());
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk)
    free_chunks.push_back(&*chunk);
}

}  // namespace godwit::ref
