#include "ref/disk/file_io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace godwit::ref {

tl::unexpected<Error> disk_failure(const char* verb, const std::string& path) {
  const int error = errno;
  const std::string why = errno_text(error);
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return fail(ErrorCode::resource_exhausted,
                  "cannot {} {}: {}; remove objects, or give the folder more room", verb, path,
                  why);
    case EMFILE:
    case ENFILE: return fail(ErrorCode::resource_exhausted, "cannot {} {}: {}", verb, path, why);
    case ENOENT: return fail(ErrorCode::not_found, "cannot {} {}: {}", verb, path, why);
    case EACCES:
    case EPERM:
    case EROFS: return fail(ErrorCode::permission, "cannot {} {}: {}", verb, path, why);
    default: return fail(ErrorCode::io, "cannot {} {}: {}", verb, path, why);
  }
}

Status write_at(const fabric::Fd& file, std::uint64_t offset, Bytes bytes,
                const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return disk_failure("write", path);
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::size_t> read_at(const fabric::Fd& file, std::uint64_t offset, MutableBytes bytes,
                            const std::string& path) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::pread(file.get(), bytes.data() + filled, bytes.size() - filled,
                                static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return disk_failure("read", path);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

Result<NewFile> NewFile::create(const fabric::Fd& folder, std::string name, std::uint64_t number,
                                std::string path) {
  std::string temporary = fmt::format("{}.{}.tmp", name, number);
  fabric::Fd file(::openat(folder.get(), temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return disk_failure("make", path);
  return NewFile(folder, std::move(name), std::move(temporary), std::move(path), std::move(file));
}

std::string_view NewFile::name_behind(std::string_view temporary) {
  constexpr std::string_view kSuffix = ".tmp";
  if (!temporary.ends_with(kSuffix)) return {};
  temporary.remove_suffix(kSuffix.size());
  const std::size_t last = temporary.find_last_not_of("0123456789");
  if (last + 1 == temporary.size() || temporary[last] != '.') return {};
  return temporary.substr(0, last);
}

NewFile::~NewFile() {
  if (!temporary_.empty()) ::unlinkat(folder_.get(), temporary_.c_str(), 0);
}

// Some file systems tell only here that there was no room after all.
Status NewFile::finish(bool on_disk) {
  if (on_disk && ::fsync(file_.get()) != 0) return disk_failure("write", path_);
  if (::close(file_.release()) != 0) return disk_failure("write", path_);
  if (::renameat(folder_.get(), temporary_.c_str(), folder_.get(), name_.c_str()) != 0)
    return disk_failure("name", path_);
  temporary_.clear();
  if (!on_disk || ::fsync(folder_.get()) == 0) return {};
  auto failure = disk_failure("write", path_);
  ::unlinkat(folder_.get(), name_.c_str(), 0);
  return failure;
}

}  // namespace godwit::ref
