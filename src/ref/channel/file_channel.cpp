#include "ref/channel/file_channel.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "ref/channel/refusals.hpp"
#include "ref/disk/checksum.hpp"
#include "ref/disk/file_io.hpp"

namespace godwit::ref {
namespace {

constexpr std::uint64_t kMagic = 0x326E616863776467;       // "gdwchan2"
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;  // still in a cache when it is checked

struct FileHead {
  std::uint64_t magic = kMagic;
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;       // of the bytes
  std::uint64_t head_checksum = 0;  // of the three above
};
static_assert(sizeof(FileHead) == 32);

std::uint64_t checksum_of(const FileHead& head) {
  return Checksum::of(bytes_of_value(head).first(offsetof(FileHead, head_checksum)));
}

// Different in all processes of all hosts that write into one folder.
std::uint64_t random_number() {
  std::uint64_t number = 0;
  randombytes_buf(&number, sizeof number);
  return number;
}

tl::unexpected<Error> refuse_damaged(const std::string& path, const char* why) {
  return fail(ErrorCode::bad_format, "{} is damaged: {}; remove it, and put the object anew", path,
              why);
}

// Calls `each` with the names of a folder below `root`; a folder that cannot be read has none.
template <class Each>
void for_names(const fabric::Fd& root, const char* name, const Each& each) {
  const int fd = ::openat(root.get(), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  DIR* const folder = ::fdopendir(fd);
  if (folder == nullptr) {
    ::close(fd);
    return;
  }
  while (const dirent* entry = ::readdir(folder)) {  // NOLINT(concurrency-mt-unsafe): its own DIR
    if (entry->d_name[0] != '.') each(fd, entry->d_name);
  }
  ::closedir(folder);
}

}  // namespace

Result<std::unique_ptr<Channel>> FileChannel::make(const ChannelUrl& url) {
  constexpr std::array<std::string_view, 2> kOptions{"fsync", "ttl"};
  GODWIT_CHECK(url.allow_only(kOptions));
  Options options;
  options.path = url.path;
  if (!url.hosts.empty() || !options.path.starts_with('/')) {
    return fail(ErrorCode::bad_address, "{}: expected file:/FOLDER, a whole path", url.shown());
  }
  GODWIT_TRY(const std::uint64_t fsync, url.number("fsync", 0, 1));
  options.fsync = fsync != 0;
  GODWIT_TRY(options.ttl_s, url.number("ttl", kTimeToLiveS, UINT32_MAX));
  if (::mkdir(options.path.c_str(), 0700) != 0 && errno != EEXIST) {
    return disk_failure("make the folder", options.path);
  }
  fabric::Fd folder(::open(options.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return disk_failure("open the folder", options.path);
  std::unique_ptr<FileChannel> channel(new FileChannel(std::move(options), std::move(folder)));
  channel->sweep();
  return std::unique_ptr<Channel>(std::move(channel));
}

std::string FileChannel::place_of(std::string_view key) {
  return fmt::format("{:02x}/{}", Checksum::of(bytes_of(key)) & 0xFFU, key);
}

Status FileChannel::make_subfolder(const std::string& place) {
  const std::string name = place.substr(0, 2);
  if (::mkdirat(folder_.get(), name.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return disk_failure("make the folder", options_.path + "/" + name);
}

Status FileChannel::put(std::string_view key, Parts parts) {
  GODWIT_CHECK(check_key(key));
  const std::string place = place_of(key);
  const std::string path = options_.path + "/" + place;
  fabric::Fd subfolder(
      ::openat(folder_.get(), place.substr(0, 2).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!subfolder) {
    GODWIT_CHECK(make_subfolder(place));
    subfolder = fabric::Fd(
        ::openat(folder_.get(), place.substr(0, 2).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!subfolder) return disk_failure("open the folder of", path);
  }
  GODWIT_TRY(NewFile file, NewFile::create(subfolder, std::string(key), random_number(), path));
  FileHead head;
  Checksum checksum;
  for (const auto& part : parts) {
    for (std::size_t at = 0; at < part.size(); at += kPieceBytes) {
      const Bytes piece = part.subspan(at, std::min(kPieceBytes, part.size() - at));
      checksum.add(piece);
      GODWIT_CHECK(write_at(file.file(), sizeof head + head.size, piece, path));
      head.size += piece.size();
    }
  }
  head.checksum = checksum.value();
  head.head_checksum = checksum_of(head);
  GODWIT_CHECK(write_at(file.file(), 0, bytes_of_value(head), path));
  return file.finish(options_.fsync);
}

Result<FileChannel::Opened> FileChannel::open(std::string_view key) {
  GODWIT_CHECK(check_key(key));
  const std::string place = place_of(key);
  Opened opened;
  opened.path = options_.path + "/" + place;
  opened.file = fabric::Fd(::openat(folder_.get(), place.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened.file && errno == ENOENT) return refuse_missing(key, *this);
  if (!opened.file) return disk_failure("open", opened.path);
  FileHead head;
  MutableBytes room = std::as_writable_bytes(std::span(&head, 1));
  GODWIT_TRY(const std::size_t got, read_at(opened.file, 0, room, opened.path));
  if (got != sizeof head || head.magic != kMagic || head.head_checksum != checksum_of(head)) {
    return refuse_damaged(opened.path, "it does not begin as files of a channel do");
  }
  opened.size = head.size;
  opened.checksum = head.checksum;
  return opened;
}

Status FileChannel::get(std::string_view key, std::uint64_t offset, std::span<std::byte> into) {
  GODWIT_TRY(const Opened opened, open(key));
  GODWIT_CHECK(check_range(key, offset, into.size(), opened.size));
  Checksum checksum;
  for (std::size_t at = 0; at < into.size(); at += kPieceBytes) {
    const MutableBytes piece = into.subspan(at, std::min(kPieceBytes, into.size() - at));
    GODWIT_TRY(const std::size_t got,
               read_at(opened.file, sizeof(FileHead) + offset + at, piece, opened.path));
    if (got != piece.size()) return refuse_damaged(opened.path, "it ends before its last byte");
    checksum.add(piece);
  }
  if (into.size() == opened.size && checksum.value() != opened.checksum) {
    return refuse_damaged(opened.path, "its bytes are not those that were written");
  }
  return {};
}

Result<std::uint64_t> FileChannel::size(std::string_view key) {
  GODWIT_TRY(const Opened opened, open(key));
  return opened.size;
}

Status FileChannel::remove(std::string_view key) {
  GODWIT_CHECK(check_key(key));
  const std::string place = place_of(key);
  if (::unlinkat(folder_.get(), place.c_str(), 0) == 0 || errno == ENOENT) return {};
  return disk_failure("remove", options_.path + "/" + place);
}

Status FileChannel::renew(std::span<const std::string> keys) {
  for (const std::string& key : keys) {
    const std::string place = place_of(key);
    if (::utimensat(folder_.get(), place.c_str(), nullptr, 0) == 0 || errno == ENOENT) continue;
    return disk_failure("renew", options_.path + "/" + place);
  }
  sweep();
  return {};
}

Status FileChannel::ping() {
  if (::faccessat(folder_.get(), ".", W_OK, 0) == 0) return {};
  return disk_failure("use", options_.path);
}

// By the file system's clock, which is everybody's, as the age of a new file of ours tells it.
void FileChannel::sweep() {
  const std::string probe = fmt::format(".clock-{:016x}", random_number());
  const fabric::Fd file(
      ::openat(folder_.get(), probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) return;
  ::unlinkat(folder_.get(), probe.c_str(), 0);
  const std::time_t now = status.st_mtime;
  const auto sweep_file = [&](int folder, const char* name) {
    struct stat found{};
    if (::fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return;
    const bool temporary = !NewFile::name_behind(name).empty();
    const std::uint64_t most = temporary ? kLeftoverS : options_.ttl_s;
    if (most == 0 || found.st_mtime > now) return;
    if (static_cast<std::uint64_t>(now - found.st_mtime) > most) ::unlinkat(folder, name, 0);
  };
  for (unsigned i = 0; i < 256; ++i) {
    for_names(folder_, fmt::format("{:02x}", i).c_str(), sweep_file);
  }
}

}  // namespace godwit::ref
