// What a folder holds when a process opens it: what earlier ones left there.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/fail.hpp"
#include "ref/disk/checksum.hpp"
#include "ref/disk/file_io.hpp"
#include "ref/disk/object_folder.hpp"

namespace godwit::ref {
namespace {

constexpr std::string_view kKeyName = "handle.key";
constexpr std::string_view kIdName = "node.id";
constexpr int kMostAside = 1'000;  // of one name

// Whoever can write there could plant objects, and whoever can read there could forge handles.
Status check_private(const fabric::Fd& file, const std::string& path, mode_t forbidden) {
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return disk_failure("open", path);
  if (info.st_uid == ::geteuid() && (info.st_mode & forbidden) == 0) return {};
  return fail(
      ErrorCode::permission,
      "{} is not this user's alone: make it so (chown, chmod go-rwx), or use another folder", path);
}

Result<fabric::Fd> open_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return disk_failure("make", path);
  fabric::Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return disk_failure("open", path);
  GODWIT_CHECK(check_private(folder, path, S_IWGRP | S_IWOTH));
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorCode::already_exists,
                "{} is in use by another process: give each node a folder of its own", path);
  return folder;
}

// Beforehand, since files are renamed and removed while they are looked at.
Result<std::vector<std::string>> names_in(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(path, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) return fail(ErrorCode::io, "cannot list {}: {}", path, error.message());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<ObjectFolder::Opened> ObjectFolder::open(Options options) {
  GODWIT_TRY(fabric::Fd lock, open_folder(options.path));
  Opened opened;
  opened.folder.reset(new ObjectFolder(std::move(options), std::move(lock)));
  GODWIT_TRY(const auto names, names_in(opened.folder->options_.path));
  for (const std::string& name : names) opened.folder->look_at(name, opened);
  return opened;
}

void ObjectFolder::look_at(const std::string& name, Opened& opened) {
  const auto remove_it = [&] {
    if (::unlinkat(folder_.get(), name.c_str(), 0) == 0) {
      ++opened.removed;
    } else {
      opened.broken.push_back({path_of(name), "it cannot be removed: " + errno_text(errno)});
    }
  };
  if (const auto behind = NewFile::name_behind(name); !behind.empty()) {
    if (behind == kKeyName || behind == kIdName || ObjectFileName::parse(behind)) remove_it();
    return;
  }
  if (!ObjectFileName::parse(name)) return;
  auto head = check(name);
  if (head && !head->record.persistent) {
    remove_it();
  } else if (head) {
    used_bytes_ += ObjectHead::kSize + head->record.handle.size;
    opened.objects.push_back(std::move(head->record));
  } else if (head.error().code == ErrorCode::bad_format) {
    auto aside = set_aside(name);
    std::string why = std::move(head.error().message);
    if (!aside) why += "; " + aside.error().message;
    opened.broken.push_back({std::move(aside).value_or(path_of(name)), std::move(why)});
  } else {
    opened.broken.push_back({path_of(name), std::move(head.error().message)});
  }
}

// Where it is afterwards.
Result<std::string> ObjectFolder::set_aside(const std::string& name) {
  for (int number = 1; number <= kMostAside; ++number) {
    const std::string aside = fmt::format("{}.{}.broken", name, number);
    struct stat info{};
    if (::fstatat(folder_.get(), aside.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) continue;
    if (::renameat(folder_.get(), name.c_str(), folder_.get(), aside.c_str()) != 0)
      return disk_failure("set aside", path_of(name));
    return path_of(aside);
  }
  return fail(ErrorCode::already_exists, "{} broken files of its name are there already",
              kMostAside);
}

Result<std::string> ObjectFolder::set_aside(const ObjectFileName& which) {
  const std::string name = which.text();
  struct stat info{};
  if (::fstatat(folder_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return disk_failure("set aside", path_of(name));
  GODWIT_TRY(std::string aside, set_aside(name));
  used_bytes_ -= static_cast<std::uint64_t>(info.st_size);
  return aside;
}

// --- The key ---

namespace {

// As it lies in the file: what it is, the secret, and the checksum of both.
struct KeyFile {
  std::array<char, 8> magic{'G', 'D', 'W', 'K', 'E', 'Y', '2', '\0'};
  std::array<std::uint8_t, HandleKey::kBytes> secret{};
  std::uint64_t checksum = 0;

  [[nodiscard]] std::uint64_t right_checksum() const {
    return Checksum::of(bytes_of_value(*this).first(offsetof(KeyFile, checksum)));
  }
};
static_assert(sizeof(KeyFile) == 32 && offsetof(KeyFile, checksum) == 24);

Result<HandleKey> read_key(const fabric::Fd& file, const std::string& path) {
  GODWIT_CHECK(check_private(file, path, S_IRWXG | S_IRWXO));
  std::array<std::byte, sizeof(KeyFile) + 1> bytes{};
  GODWIT_TRY(const std::size_t got, read_at(file, 0, bytes, path));
  KeyFile key;
  std::memcpy(&key, bytes.data(), sizeof key);
  if (got != sizeof key || key.magic != KeyFile{}.magic || key.checksum != key.right_checksum())
    return fail(ErrorCode::bad_format,
                "{} holds no key, or a damaged one: put back the one that was there; without it "
                "(removed) a new one is made, and handles that were given out are good no more",
                path);
  return HandleKey(key.secret);
}

}  // namespace

Result<HandleKey> ObjectFolder::key() {
  const std::string name(kKeyName);
  const std::string path = path_of(name);
  const std::lock_guard lock(key_mutex_);  // two that find none would make two
  const fabric::Fd file(
      ::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file) return read_key(file, path);
  if (errno != ENOENT) return disk_failure("open", path);
  const HandleKey made = HandleKey::random();
  KeyFile key;
  key.secret = made.secret();
  key.checksum = key.right_checksum();
  GODWIT_TRY(NewFile fresh, NewFile::create(folder_, name, ++last_temporary_, path));
  GODWIT_CHECK(write_at(fresh.file(), 0, bytes_of_value(key), path));
  GODWIT_CHECK(fresh.finish(true));
  return made;
}

// --- The node ---

namespace {

constexpr std::size_t kIdDigits = 16;

Result<NodeId> read_id(const fabric::Fd& file, const std::string& path) {
  std::array<std::byte, kIdDigits + 2> bytes{};
  GODWIT_TRY(const std::size_t got, read_at(file, 0, bytes, path));
  std::string_view text = text_of(Bytes(bytes).first(got));
  if (text.ends_with('\n')) text.remove_suffix(1);
  const auto id = text.size() == kIdDigits ? from_hex(text) : std::nullopt;
  if (!id || *id == 0)
    return fail(ErrorCode::bad_format,
                "{} holds no node's id: write the {} hexadecimal digits there that the handles of "
                "its objects name",
                path, kIdDigits);
  return NodeId{*id};
}

}  // namespace

Result<NodeId> ObjectFolder::node_id(std::optional<NodeId> wanted) {
  const std::string name(kIdName);
  const std::string path = path_of(name);
  const std::lock_guard lock(key_mutex_);
  const fabric::Fd file(
      ::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file) {
    GODWIT_TRY(const NodeId id, read_id(file, path));
    if (!wanted || *wanted == id) return id;
    return fail(ErrorCode::invalid_argument,
                "{} holds the objects of node {}, and this is node {}: use that id, or another "
                "folder",
                options_.path, to_hex(id.value), to_hex(wanted->value));
  }
  if (errno != ENOENT) return disk_failure("open", path);
  const NodeId made = wanted.value_or(random_node_id());
  GODWIT_TRY(NewFile fresh, NewFile::create(folder_, name, ++last_temporary_, path));
  GODWIT_CHECK(write_at(fresh.file(), 0, bytes_of(to_hex(made.value) + "\n"), path));
  GODWIT_CHECK(fresh.finish(true));
  return made;
}

}  // namespace godwit::ref
