#include "base/write_all.hpp"

#include <unistd.h>

#include <cerrno>

namespace godwit {

bool write_all(int fd, Bytes bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace godwit
