#include "code/native/runtime_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <system_error>

#include "base/fail.hpp"
#include "base/ids.hpp"

namespace godwit::code {
namespace {

namespace fs = std::filesystem;

// A directory is locked under its first name and gets its second when the lock is held: whatever
// bears the second and is not locked has lost its owner.
constexpr std::string_view kPrefix = "godwit-";
constexpr std::string_view kUnlockedPrefix = ".godwit-new-";

// An owner that dies between making and locking leaves an unlocked name; nobody takes this long.
constexpr std::time_t kLockingTimeout_s = 60;

bool allows_execution(const fs::path& path) {
  struct statvfs status{};
  return ::statvfs(path.c_str(), &status) == 0 && (status.f_flag & ST_NOEXEC) == 0;
}

void remove_if_abandoned(const fs::path& path, bool unlocked_name) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  struct stat status{};
  std::error_code ignored;
  const bool ours = ::fstat(fd, &status) == 0 && status.st_uid == ::geteuid();
  const bool fresh = unlocked_name && ::time(nullptr) - status.st_mtime < kLockingTimeout_s;
  if (ours && !fresh && ::flock(fd, LOCK_EX | LOCK_NB) == 0) fs::remove_all(path, ignored);
  ::close(fd);
}

// "<pid>-<16 hexadecimal digits>": the base is shared with strangers, so nothing less will do.
bool is_owner_suffix(std::string_view suffix) {
  const std::size_t dash = suffix.find('-');
  if (dash == 0 || dash == std::string_view::npos) return false;
  return suffix.substr(0, dash).find_first_not_of("0123456789") == std::string_view::npos &&
         suffix.size() - dash - 1 == 16 && from_hex(suffix.substr(dash + 1)).has_value();
}

void purge(const fs::path& base) {
  std::error_code error;
  for (fs::directory_iterator it(base, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    for (const std::string_view prefix : {kPrefix, kUnlockedPrefix}) {
      if (name.starts_with(prefix) && is_owner_suffix(name.substr(prefix.size()))) {
        remove_if_abandoned(it->path(), prefix == kUnlockedPrefix);
      }
    }
  }
}

tl::unexpected<Error> fail_create(const fs::path& path, int error_number) {
  const bool denied = error_number == EACCES || error_number == EPERM || error_number == EROFS;
  return fail(denied ? ErrorCode::permission : ErrorCode::io,
              "cannot make the runtime directory '{}': {}; choose another place for it",
              path.string(), errno_text(error_number));
}

// Makes the base too, again if its last owner takes it away in between.
Status make_inside(const fs::path& base, const fs::path& path) {
  while (true) {
    std::error_code error;
    if (base.has_parent_path()) fs::create_directories(base.parent_path(), error);
    if (error) return fail_create(base, error.value());
    if (::mkdir(base.c_str(), 0700) != 0 && errno != EEXIST) return fail_create(base, errno);
    if (::mkdir(path.c_str(), 0700) == 0) return {};
    if (errno != ENOENT) return fail_create(path, errno);
  }
}

}  // namespace

fs::path default_runtime_base() {
  const char* named = std::getenv("XDG_RUNTIME_DIR");
  if (named != nullptr && *named != '\0' && ::access(named, W_OK | X_OK) == 0 &&
      allows_execution(named)) {
    return named;
  }
  std::error_code error;
  fs::path temporary = fs::temp_directory_path(error);
  return error ? fs::path("/tmp") : temporary;
}

Result<RuntimeDirectory> RuntimeDirectory::create(const fs::path& base, EmptyBase then) {
  const std::string suffix = fmt::format("{}-{}", ::getpid(), to_hex(random_node_id().value));
  const fs::path unlocked = base / (std::string(kUnlockedPrefix) + suffix);
  const fs::path path = base / (std::string(kPrefix) + suffix);
  GODWIT_CHECK(make_inside(base, unlocked));
  if (!allows_execution(base)) {
    ::rmdir(unlocked.c_str());
    return fail(ErrorCode::permission,
                "the runtime directory '{}' cannot hold code: its file system is mounted noexec; "
                "choose another place for it",
                base.string());
  }
  purge(base);
  const int fd = ::open(unlocked.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || ::flock(fd, LOCK_EX | LOCK_NB) != 0 ||
      ::rename(unlocked.c_str(), path.c_str()) != 0) {
    const int error_number = errno;
    if (fd >= 0) ::close(fd);
    ::rmdir(unlocked.c_str());
    return fail_create(path, error_number);
  }
  return RuntimeDirectory(path, fd, then);
}

RuntimeDirectory::~RuntimeDirectory() {
  if (lock_fd_ < 0) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_fd_);
  if (then_ == EmptyBase::remove) ::rmdir(path_.parent_path().c_str());  // unless others use it
}

}  // namespace godwit::code
