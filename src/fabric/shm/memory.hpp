// Anonymous shared memory (memfd): made here, or received from a peer and checked before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "fabric/fd.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric::shm {

// A mapped range; unmapped with its owner.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(std::byte* data, std::size_t size) noexcept : data_(data), size_(size) {}
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Zeroed, of a size that is fixed for good. Errors: resource_exhausted.
[[nodiscard]] Result<Fd> create_memory(const char* name, std::size_t size);
[[nodiscard]] Result<Fd> duplicate(const Fd& fd);
// From here on nobody can map it writable any more; mappings that exist stay as they are.
[[nodiscard]] Status forbid_new_writers(int fd);
// Errors: protocol_violation unless it is memory of exactly that size that cannot shrink (touching
// memory that its maker cut off would kill this process).
[[nodiscard]] Status check_memory(int fd, std::size_t size);

enum class Access : std::uint8_t { read, write };
[[nodiscard]] Result<Mapping> map_memory(int fd, std::size_t size, Access access);
// The first page, then the rest twice in a row. `access` is that of the rest: the first page is
// always writable.
[[nodiscard]] Result<Mapping> map_ring(int fd, std::size_t ring_size, Access access);

}  // namespace godwit::fabric::shm
