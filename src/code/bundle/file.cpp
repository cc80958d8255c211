#include "code/bundle/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/fail.hpp"
#include "base/write_all.hpp"
#include "fabric/fd.hpp"

namespace godwit::code {
namespace {

ErrorCode code_of(int error_number) {
  switch (error_number) {
    case ENOENT: return ErrorCode::not_found;
    case EACCES:
    case EPERM:
    case EROFS: return ErrorCode::permission;
    default: return ErrorCode::io;
  }
}

tl::unexpected<Error> fail_io(const char* verb, const std::filesystem::path& path) {
  const int error_number = errno;
  return fail(code_of(error_number), "cannot {} '{}': {}", verb, path.string(),
              errno_text(error_number));
}

}  // namespace

Result<Buffer> read_file(const std::filesystem::path& path, std::uint64_t limit_bytes) {
  const fabric::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_io("read", path);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fail_io("read", path);
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::io, "cannot read '{}': it is not a regular file", path.string());
  }
  const auto size_bytes = static_cast<std::uint64_t>(status.st_size);
  if (size_bytes > limit_bytes) {
    return fail(ErrorCode::too_large, "'{}' has {} bytes; the limit is {}", path.string(),
                size_bytes, limit_bytes);
  }
  Buffer bytes = Buffer::allocate(size_bytes);
  if (bytes.size() != size_bytes) {
    return fail(ErrorCode::out_of_memory, "no memory to read '{}', {} bytes", path.string(),
                size_bytes);
  }
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_io("read", path);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.truncate(filled);
  return bytes;
}

Status write_file_atomically(const std::filesystem::path& path, Bytes bytes) {
  std::string temporary = path.string() + ".XXXXXX";
  const fabric::Fd file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return fail_io("write", path);
  // mkostemp makes files that only the owner may read; a bundle is no secret.
  if (!write_all(file.get(), bytes) || ::fchmod(file.get(), 0644) != 0 ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    auto error = fail_io("write", path);
    ::unlink(temporary.c_str());
    return error;
  }
  return {};
}

}  // namespace godwit::code
