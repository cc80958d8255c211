// Anonymous shared memory (memfd): made here, or received from a peer and checked before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "fabric/fd.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric {

inline constexpr std::size_t kPageSize = 4096;

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
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Zeroed, of a size that is fixed for good; pages cost memory once they are touched. Errors:
// resource_exhausted.
[[nodiscard]] Result<Fd> create_memory(const char* name, std::size_t size);
[[nodiscard]] Result<Fd> duplicate(const Fd& fd);
// A second descriptor of the same memory or file that can only be mapped for reading. A guard
// against mistakes: a process of the same user can open it anew.
[[nodiscard]] Result<Fd> duplicate_read_only(const Fd& fd);
// From here on nobody can map it writable any more; mappings that exist stay as they are.
[[nodiscard]] Status forbid_new_writers(int fd);
// Errors: protocol_violation unless it is memory of exactly that size that cannot shrink (touching
// memory that its maker cut off would kill this process).
[[nodiscard]] Status check_memory(int fd, std::size_t size);

enum class Access : std::uint8_t { read, write };
enum class Pages : std::uint8_t { now, on_demand };
[[nodiscard]] Result<Mapping> map_memory(int fd, std::size_t size, Access access,
                                         Pages pages = Pages::now);

}  // namespace godwit::fabric
