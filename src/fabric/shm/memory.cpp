#include "fabric/shm/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fail.hpp"
#include "fabric/shm/layout.hpp"

namespace godwit::fabric::shm {
namespace {

constexpr int kFixedSize = F_SEAL_SHRINK | F_SEAL_GROW;

Status exhausted(const char* what) {
  return fail(ErrorCode::resource_exhausted,
              "cannot {}: {}; close links, or raise the limits on memory and open files", what,
              errno_text(errno));
}

int protection(Access access) {
  return access == Access::write ? PROT_READ | PROT_WRITE : PROT_READ;
}

}  // namespace

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Result<Fd> create_memory(const char* name, std::size_t size) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, kFixedSize) != 0)
    return tl::unexpected(exhausted("create shared memory").error());
  return fd;
}

Result<Fd> duplicate(const Fd& fd) {
  Fd copy(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return tl::unexpected(exhausted("duplicate a descriptor").error());
  return copy;
}

Status forbid_new_writers(int fd) {
  if (::fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != 0) return exhausted("seal shared memory");
  return {};
}

Status check_memory(int fd, std::size_t size) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  struct stat info{};
  if (seals < 0 || (seals & kFixedSize) != kFixedSize || ::fstat(fd, &info) != 0 ||
      info.st_size != static_cast<off_t>(size))
    return fail(ErrorCode::protocol_violation,
                "the peer offered something that is not shared memory of {} bytes", size);
  return {};
}

Result<Mapping> map_memory(int fd, std::size_t size, Access access) {
  void* data = ::mmap(nullptr, size, protection(access), MAP_SHARED | MAP_POPULATE, fd, 0);
  if (data == MAP_FAILED) return tl::unexpected(exhausted("map shared memory").error());
  return Mapping(static_cast<std::byte*>(data), size);
}

Result<Mapping> map_ring(int fd, std::size_t ring_size, Access access) {
  const std::size_t total = kPageSize + 2 * ring_size;
  void* reserved = ::mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) return tl::unexpected(exhausted("reserve address space").error());
  Mapping mapping(static_cast<std::byte*>(reserved), total);
  const auto place = [&](std::size_t at, std::size_t size, std::size_t offset, int rights) {
    return ::mmap(mapping.data() + at, size, rights, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
                  static_cast<off_t>(offset)) != MAP_FAILED;
  };
  if (!place(0, kPageSize, 0, PROT_READ | PROT_WRITE) ||
      !place(kPageSize, ring_size, kPageSize, protection(access)) ||
      !place(kPageSize + ring_size, ring_size, kPageSize, protection(access)))
    return tl::unexpected(exhausted("map a ring").error());
  return mapping;
}

}  // namespace godwit::fabric::shm
