#include "ref/disk/object_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/fail.hpp"
#include "ref/disk/checksum.hpp"
#include "ref/disk/file_io.hpp"

namespace godwit::ref {
namespace {

// Small enough that a piece is still in the core's cache when its checksum is taken.
constexpr std::size_t kPiece = std::size_t{256} << 10;

struct OpenFile {
  fabric::Fd file;
  std::uint64_t size = 0;
};

Result<OpenFile> open_file(const fabric::Fd& folder, const std::string& name, int flags,
                           const std::string& path) {
  OpenFile opened{fabric::Fd(
      ::openat(folder.get(), name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK))};
  if (!opened.file && errno == ELOOP)
    return fail(ErrorCode::bad_format, "{} is no plain file", path);
  if (!opened.file) return disk_failure("open", path);
  struct stat info{};
  if (::fstat(opened.file.get(), &info) != 0) return disk_failure("open", path);
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::bad_format, "{} is no plain file", path);
  opened.size = static_cast<std::uint64_t>(info.st_size);
  return opened;
}

// Of a file with that name; whatever is wrong with it is bad_format.
Result<ObjectHead> read_head(const OpenFile& opened, const ObjectFileName& name,
                             const std::string& path) {
  std::array<std::byte, ObjectHead::kSize> bytes{};
  GODWIT_TRY(const std::size_t got, read_at(opened.file, 0, bytes, path));
  auto head = ObjectHead::parse(Bytes(bytes).first(got));
  if (!head) return fail(ErrorCode::bad_format, "{} is no good: {}", path, head.error().message);
  const Handle& handle = head->record.handle;
  if (ObjectFileName::of(handle) != name)
    return fail(ErrorCode::bad_format, "{} is no good: it holds {} instead", path,
                ObjectFileName::of(handle).text());
  if (opened.size != ObjectHead::kSize + handle.size)
    return fail(ErrorCode::bad_format, "{} is no good: it has {} bytes where its object has {}",
                path, opened.size, ObjectHead::kSize + handle.size);
  return head;
}

// Reads the data piece by piece; `place` says where each goes.
template <class Place>
Status read_data(const OpenFile& opened, const ObjectHead& head, const std::string& path,
                 Place place) {
  Checksum checksum;
  const std::uint64_t size = head.record.handle.size;
  for (std::uint64_t at = 0; at < size; at += kPiece) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, size - at));
    const MutableBytes piece = place(at, wanted);
    GODWIT_TRY(const std::size_t got, read_at(opened.file, ObjectHead::kSize + at, piece, path));
    checksum.add(piece.first(got));
    if (got < wanted)
      return fail(ErrorCode::bad_format, "{} is no good: it was cut short while it was read", path);
  }
  if (checksum.value() == head.data_checksum) return {};
  return fail(ErrorCode::bad_format, "{} is no good: its data was damaged: the checksum differs",
              path);
}

}  // namespace

std::string ObjectFolder::path_of(const std::string& name) const {
  return fmt::format("{}/{}", options_.path, name);
}

// --- Writing ---

Status ObjectFolder::reserve(std::uint64_t bytes) {
  std::uint64_t used = used_bytes_.load();
  do {
    if (bytes > options_.budget_bytes || used > options_.budget_bytes - bytes)
      return fail(ErrorCode::resource_exhausted,
                  "no room for {} bytes in {}: objects use {} of a budget of {}; remove some, or "
                  "raise the budget",
                  bytes, options_.path, used, options_.budget_bytes);
  } while (!used_bytes_.compare_exchange_weak(used, used + bytes));
  return {};
}

Status ObjectFolder::write(const ObjectRecord& record, Bytes data) {
  if (data.size() != record.handle.size || data.size() > ObjectHead::kMaxObjectSize)
    return fail(ErrorCode::invalid_argument, "{} bytes for an object of {}; the largest has {}",
                data.size(), record.handle.size, ObjectHead::kMaxObjectSize);
  const std::string name = ObjectFileName::of(record.handle).text();
  const std::uint64_t size = ObjectHead::kSize + data.size();
  GODWIT_CHECK(reserve(size));
  struct stat before{};
  const bool replaces = ::fstatat(folder_.get(), name.c_str(), &before, AT_SYMLINK_NOFOLLOW) == 0;
  const Status written = write_whole(name, record, data);
  if (!written) {
    used_bytes_ -= size;
  } else if (replaces) {
    used_bytes_ -= static_cast<std::uint64_t>(before.st_size);
  }
  return written;
}

Status ObjectFolder::write_whole(const std::string& name, const ObjectRecord& record, Bytes data) {
  const std::string path = path_of(name);
  GODWIT_TRY(NewFile file, NewFile::create(folder_, name, ++last_temporary_, path));
  // Tells of a full disk before the work is done, where the file system can.
  const auto size = static_cast<off_t>(ObjectHead::kSize + data.size());
  if (::fallocate(file.file().get(), 0, 0, size) != 0 && errno != EOPNOTSUPP && errno != EINTR)
    return disk_failure("write", path);
  Checksum checksum;
  for (std::size_t at = 0; at < data.size(); at += kPiece) {
    const Bytes piece = data.subspan(at, std::min(kPiece, data.size() - at));
    checksum.add(piece);
    GODWIT_CHECK(write_at(file.file(), ObjectHead::kSize + at, piece, path));
  }
  const ObjectHead head{.record = record, .data_checksum = checksum.value()};
  GODWIT_CHECK(write_at(file.file(), 0, head.encode(), path));
  return file.finish(record.persistent);
}

// In place: the head lies within one sector, which a disk writes as a whole or not at all.
Status ObjectFolder::set_lifetime(const ObjectRecord& record) {
  const ObjectFileName name = ObjectFileName::of(record.handle);
  const std::string path = path_of(name.text());
  GODWIT_TRY(const OpenFile opened, open_file(folder_, name.text(), O_RDWR, path));
  GODWIT_TRY(ObjectHead head, read_head(opened, name, path));
  head.record.lifetime = record.lifetime;
  head.record.written_ns = record.written_ns;
  GODWIT_CHECK(write_at(opened.file, 0, head.encode(), path));
  if (head.record.persistent && ::fdatasync(opened.file.get()) != 0)
    return disk_failure("write", path);
  return {};
}

Status ObjectFolder::remove(const ObjectFileName& which) {
  const std::string name = which.text();
  struct stat before{};
  if (::fstatat(folder_.get(), name.c_str(), &before, AT_SYMLINK_NOFOLLOW) != 0 ||
      ::unlinkat(folder_.get(), name.c_str(), 0) != 0) {
    if (errno == ENOENT) return {};
    return disk_failure("remove", path_of(name));
  }
  used_bytes_ -= static_cast<std::uint64_t>(before.st_size);
  return {};
}

// --- Reading ---

Status ObjectFolder::read(const Handle& handle, MutableBytes data) const {
  if (data.size() != handle.size)
    return fail(ErrorCode::invalid_argument, "room of {} bytes for an object of {}", data.size(),
                handle.size);
  const ObjectFileName name = ObjectFileName::of(handle);
  const std::string path = path_of(name.text());
  GODWIT_TRY(const OpenFile opened, open_file(folder_, name.text(), O_RDONLY, path));
  GODWIT_TRY(const ObjectHead head, read_head(opened, name, path));
  if (head.record.handle.size != handle.size)
    return fail(ErrorCode::bad_format, "{} is no good: its object has {} bytes, not {}", path,
                head.record.handle.size, handle.size);
  return read_data(opened, head, path, [&](std::uint64_t at, std::size_t size) {
    return data.subspan(static_cast<std::size_t>(at), size);
  });
}

Result<ObjectHead> ObjectFolder::check(const std::string& name) const {
  const std::string path = path_of(name);
  GODWIT_TRY(const OpenFile opened, open_file(folder_, name, O_RDONLY, path));
  GODWIT_TRY(const ObjectHead head, read_head(opened, ObjectFileName::parse(name).value(), path));
  if (options_.check_data && head.record.persistent) {
    std::vector<std::byte> piece(kPiece);
    GODWIT_CHECK(read_data(opened, head, path, [&](std::uint64_t, std::size_t size) {
      return MutableBytes(piece).first(size);
    }));
  }
  return head;
}

}  // namespace godwit::ref
