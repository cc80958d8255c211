#include "fabric/memory/memfd.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/fail.hpp"

namespace godwit::fabric {
namespace {

constexpr int kFixedSize = F_SEAL_SHRINK | F_SEAL_GROW;

Status exhausted(const char* what) {
  return fail(ErrorCode::resource_exhausted,
              "cannot {}: {}; close links, or raise the limits on memory and open files", what,
              errno_text(errno));
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

Result<Fd> duplicate_read_only(const Fd& fd) {
  const std::string path = fmt::format("/proc/self/fd/{}", fd.get());
  Fd copy(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!copy) return tl::unexpected(exhausted("open memory for reading").error());
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

Result<Mapping> map_memory(int fd, std::size_t size, Access access, Pages pages) {
  const int rights = access == Access::write ? PROT_READ | PROT_WRITE : PROT_READ;
  const int flags = pages == Pages::now ? MAP_SHARED | MAP_POPULATE : MAP_SHARED;
  void* data = ::mmap(nullptr, size, rights, flags, fd, 0);
  if (data == MAP_FAILED) return tl::unexpected(exhausted("map shared memory").error());
  return Mapping(static_cast<std::byte*>(data), size);
}

}  // namespace godwit::fabric
