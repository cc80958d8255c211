#include "code/native/image_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "base/fail.hpp"
#include "base/write_all.hpp"

namespace godwit::code {
namespace {

constexpr std::size_t kMaxNameInPath = 100;

std::string path_safe(std::string_view name) {
  std::string safe(name.substr(0, kMaxNameInPath));
  for (char& c : safe) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '-' && c != '_' && c != '+' && c != '.') c = '_';
  }
  return safe;
}

std::string unique_name(std::string_view name, const ContentId& slice) {
  static std::atomic<std::uint64_t> loads{0};
  return fmt::format("{}-{}-{}.so", path_safe(name), slice.short_hex(), ++loads);
}

bool write_new_file(const std::string& path, Bytes bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0500);
  if (fd < 0) return false;
  const bool written = write_all(fd, bytes);
  ::close(fd);
  if (!written) ::unlink(path.c_str());
  return written;
}

}  // namespace

Result<ImageFile> ImageFile::create(std::shared_ptr<const RuntimeDirectory> directory,
                                    std::string_view name, const ContentId& slice, Bytes bytes) {
  ImageFile image;
  const std::string file_name = unique_name(name, slice);
  if (directory != nullptr) {
    std::string path = (directory->path() / file_name).string();
    if (write_new_file(path, bytes)) {
      image.path_ = std::move(path);
      image.directory_ = std::move(directory);
      return image;
    }
  }
  image.fd_ = ::memfd_create(file_name.c_str(), MFD_CLOEXEC);
  if (image.fd_ < 0 || !write_all(image.fd_, bytes)) {
    return fail(ErrorCode::out_of_memory, "no room for the {} bytes of '{}': {}", bytes.size(),
                name, errno_text(errno));
  }
  image.path_ = fmt::format("/proc/self/fd/{}", image.fd_);
  return image;
}

ImageFile::ImageFile(ImageFile&& other) noexcept
    : directory_(std::move(other.directory_)),
      path_(std::exchange(other.path_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

ImageFile::~ImageFile() {
  if (directory_ != nullptr) ::unlink(path_.c_str());
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace godwit::code
