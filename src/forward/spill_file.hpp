// Sealed chunks that have no room in memory wait in a file without a name.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "fabric/fd.hpp"
#include "godwit/detail/forward/chunk.hpp"
#include "godwit/error.hpp"

namespace godwit::forward {

using detail::Chunk;

// Used under its owner's lock. The file is made when the first chunk comes and empty when none
// waits.
class SpillFile {
 public:
  // `folder` empty: the system's folder for temporary files.
  SpillFile(std::string folder, std::size_t limit_bytes)
      : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

  // Writes the chunk's header and items; the chunk stays the caller's. resource_exhausted: the
  // limit, or the disk, is full; io otherwise. After an error nothing of it waits.
  [[nodiscard]] Status push(const Chunk& chunk);
  // The oldest that waits; only if !empty().
  [[nodiscard]] const Chunk& front() const noexcept { return waiting_.front().header; }
  // Reads it into `chunk`, whose capacity is at least front().used, and forgets it.
  [[nodiscard]] Status pop_into(Chunk& chunk);
  // Shows all that wait, and leaves them there; a chunk is valid until visit() returns.
  [[nodiscard]] Status each(const std::function<Status(const Chunk&)>& visit) const;

  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  [[nodiscard]] std::uint64_t items() const noexcept { return items_; }  // that wait

 private:
  struct Entry {
    Chunk header;
    std::uint64_t offset = 0;
  };
  [[nodiscard]] Status open();
  [[nodiscard]] Status read(const Entry& entry, std::byte* items) const;

  std::string folder_;
  std::size_t limit_bytes_;
  fabric::Fd file_;
  std::deque<Entry> waiting_;
  std::vector<std::uint64_t> holes_;  // places of one chunk, free again
  std::size_t place_bytes_ = 0;       // of these; the first chunk's capacity
  std::uint64_t end_ = 0;
  std::uint64_t items_ = 0;
};

}  // namespace godwit::forward
