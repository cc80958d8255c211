#include "code/jit/object_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/fail.hpp"
#include "base/write_all.hpp"
#include "fabric/fd.hpp"

namespace godwit::code::jit {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic = {'G', 'D', 'W', 'O', 'B', 'J', '\0', '\1'};
constexpr const char* kSuffix = ".gdwo";
constexpr auto kStaleTemporary = std::chrono::hours(1);

struct FileHeader {
  std::array<char, 8> magic;
  std::uint64_t size;
  std::array<std::byte, ContentId::kSize> digest;
};
static_assert(sizeof(FileHeader) == 48);

bool read_all(int fd, void* to, std::size_t size) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

// The object, or nothing if the file is not what a store() of ours left.
std::optional<std::vector<char>> read_object(int fd) {
  struct stat status{};
  FileHeader header{};
  if (fstat(fd, &status) != 0 || !read_all(fd, &header, sizeof header)) return std::nullopt;
  if (header.magic != kMagic ||
      header.size != static_cast<std::uint64_t>(status.st_size) - sizeof header) {
    return std::nullopt;
  }
  std::vector<char> object(header.size);
  if (!read_all(fd, object.data(), object.size())) return std::nullopt;
  if (ContentId::of(std::as_bytes(std::span(object))).digest != header.digest) return std::nullopt;
  return object;
}

}  // namespace

Result<std::unique_ptr<ObjectCache>> ObjectCache::open(std::string directory,
                                                       std::uint64_t limit_bytes) {
  std::error_code error;
  const fs::path path(directory);
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(ErrorCode::io, "cannot make the JIT cache directory {}: {}", directory,
                errno_text(errno));
  }
  struct stat status{};
  if (stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      access(directory.c_str(), R_OK | W_OK | X_OK) != 0) {
    return fail(ErrorCode::io, "cannot use the JIT cache directory {}: {}", directory,
                errno_text(S_ISDIR(status.st_mode) ? errno : ENOTDIR));
  }
  if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(ErrorCode::permission,
                "the JIT cache directory {} can be written by others, who could plant code in it; "
                "make it yours alone (chmod 700)",
                directory);
  }
  std::unique_ptr<ObjectCache> cache(new ObjectCache(std::move(directory), limit_bytes));
  const std::lock_guard lock(cache->mutex_);
  cache->make_room();
  return cache;
}

ObjectCache::Found ObjectCache::find(const ContentId& key) {
  const std::string path = path_of(key);
  const fabric::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return {};
  Found found{read_object(file.get()), false};
  if (found.object) {
    const timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    (void)futimens(file.get(), now);
  } else {
    found.rejected = true;
    unlink(path.c_str());
  }
  return found;
}

Status ObjectCache::store(const ContentId& key, Bytes object) {
  const std::uint64_t size = object.size() + sizeof(FileHeader);
  if (size > limit_bytes_) return {};
  const std::string path = path_of(key);
  const std::lock_guard lock(mutex_);
  const std::string aside = fmt::format("{}.{}.{}.tmp", path, getpid(), files_written_++);
  {
    const fabric::Fd file(
        ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    FileHeader header{kMagic, object.size(), ContentId::of(object).digest};
    if (!file || !write_all(file.get(), bytes_of_value(header)) || !write_all(file.get(), object)) {
      const int reason = errno;
      unlink(aside.c_str());
      return fail(ErrorCode::io, "cannot keep compiled code in {}: {}", directory_,
                  errno_text(reason));
    }
  }
  if (rename(aside.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    unlink(aside.c_str());
    return fail(ErrorCode::io, "cannot keep compiled code in {}: {}", directory_,
                errno_text(reason));
  }
  used_bytes_ += size;
  if (used_bytes_ > limit_bytes_) make_room();
  return {};
}

std::string ObjectCache::path_of(const ContentId& key) const {
  return fmt::format("{}/{}{}", directory_, key.hex(), kSuffix);
}

// Only files that carry our names are counted and deleted.
void ObjectCache::make_room() {
  struct Kept {
    fs::file_time_type used;
    std::uint64_t size;
    fs::path path;
  };
  std::vector<Kept> files;
  std::error_code error;
  used_bytes_ = 0;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    const fs::path& path = entry.path();
    const auto used = entry.last_write_time(error);
    if (error || !entry.is_regular_file(error)) continue;
    if (path.extension() == ".tmp" && path.string().find(kSuffix) != std::string::npos) {
      if (fs::file_time_type::clock::now() - used > kStaleTemporary) fs::remove(path, error);
    } else if (path.extension() == kSuffix) {
      files.push_back({used, entry.file_size(error), path});
      used_bytes_ += files.back().size;
    }
  }
  if (used_bytes_ <= limit_bytes_) return;
  std::sort(files.begin(), files.end(),
            [](const Kept& a, const Kept& b) { return a.used < b.used; });
  for (const Kept& file : files) {
    // Down to nine tenths, so that a full cache is not scanned at every store.
    if (used_bytes_ <= limit_bytes_ - limit_bytes_ / 10) break;
    if (fs::remove(file.path, error)) used_bytes_ -= file.size;
  }
}

}  // namespace godwit::code::jit
