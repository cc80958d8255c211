#include "netlab/namespaces.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace godwit::netlab {
namespace {

constexpr int kAlways = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID;

bool write_whole(const char* path, std::string_view text) {
  const fabric::Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

std::optional<Trouble> make_namespaces() {
  if (::unshare(kAlways) == 0) return std::nullopt;
  if (errno != EPERM) return Trouble{Step::make_namespaces, errno};
  const auto user = ::geteuid();
  const auto group = ::getegid();
  if (::unshare(kAlways | CLONE_NEWUSER) != 0) return Trouble{Step::make_namespaces, errno};
  // Who gives up setgroups() may map the own group without asking anybody.
  if (!write_whole("/proc/self/setgroups", "deny") ||
      !write_whole("/proc/self/uid_map", fmt::format("0 {} 1\n", user)) ||
      !write_whole("/proc/self/gid_map", fmt::format("0 {} 1\n", group))) {
    return Trouble{Step::map_user, errno};
  }
  return std::nullopt;
}

int namespaces_of(pid_t pid) {
  struct stat ours{};
  struct stat theirs{};
  const std::string path = fmt::format("/proc/{}/ns/user", pid);
  const bool same = ::stat("/proc/self/ns/user", &ours) == 0 &&
                    ::stat(path.c_str(), &theirs) == 0 && ours.st_ino == theirs.st_ino;
  return same ? kAlways : kAlways | CLONE_NEWUSER;
}

std::optional<Trouble> join_namespaces(int pidfd, int flags) {
  char folder[PATH_MAX];
  if (::getcwd(folder, sizeof folder) == nullptr) return Trouble{Step::enter_folder, errno};
  if (::setns(pidfd, flags) != 0) return Trouble{Step::join_namespaces, errno};
  if (::chdir(folder) != 0) return Trouble{Step::enter_folder, errno};
  return std::nullopt;
}

std::optional<Trouble> mount_views() {
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("proc", "/proc", "proc", kFlags, nullptr) != 0) {
    return Trouble{Step::mount_proc, errno};
  }
  if (::mount("sysfs", "/sys", "sysfs", kFlags, nullptr) != 0) {
    return Trouble{Step::mount_sys, errno};
  }
  return std::nullopt;
}

}  // namespace godwit::netlab
