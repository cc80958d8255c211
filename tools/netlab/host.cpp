#include "netlab/host.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include "base/fail.hpp"
#include "netlab/namespaces.hpp"

namespace godwit::netlab {
namespace {

// Holds no descriptor of the owner's open but its pidfd: not even standard output, at whose other
// end somebody may wait for the last writer to go.
void forget_descriptors(int keep) {
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3 && nowhere >= 0; ++fd) ::dup2(nowhere, fd);
  ::dup2(keep, 3);
  ::close_range(4, ~0U, 0);
}

// A descriptor and not PR_SET_PDEATHSIG: that one fires when the thread that forked ends.
[[noreturn]] void keep_until_end_of(int owner_pidfd) {
  forget_descriptors(owner_pidfd);
  ::prctl(PR_SET_NAME, "netlab-host");
  std::signal(SIGCHLD, SIG_IGN);  // orphans of the namespace become our children; nobody asks
  pollfd wait{3, POLLIN, 0};
  while (::poll(&wait, 1, -1) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

int keep_host(const TunOptions& options, int owner_pidfd, Reporter& reporter) {
  fabric::Fd device;
  auto trouble = mount_views();
  if (!trouble) trouble = make_interfaces(options, device);
  if (trouble) {
    reporter.failed(*trouble);
    return 1;
  }
  reporter.hand_over(device.get());
  device.reset();
  reporter.close();
  keep_until_end_of(owner_pidfd);
}

// The caller's environment with the changes, laid out for exec before there is a fork.
std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  const auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=') + 1); };
  std::vector<std::string> all = changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name = name_of(*entry);
    const bool changed =
        std::any_of(changes.begin(), changes.end(),
                    [&](const std::string& change) { return name_of(change) == name; });
    if (!changed) all.emplace_back(*entry);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<Host> Host::create(const TunOptions& options) {
  const fabric::Fd owner(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!owner) {
    return fail(ErrorCode::unsupported, "cannot make a pidfd: {}; Linux 5.8 or later is needed",
                errno_text(errno));
  }
  GODWIT_TRY(Spawned keeper, spawn({.enter = make_namespaces, .live = [&](Reporter& reporter) {
                                      return keep_host(options, owner.get(), reporter);
                                    }}));
  if (!keeper.descriptor) {
    kill_and_reap(keeper.pid, keeper.pidfd.get());
    return fail(ErrorCode::internal, "a host's keeper ended before it had made its device");
  }
  const int namespaces = namespaces_of(keeper.pid);
  return Host(std::move(keeper), namespaces);
}

Host::Host(Host&& other) noexcept
    : keeper_(std::exchange(other.keeper_, {})), namespaces_(other.namespaces_) {}

Host::~Host() {
  if (keeper_.pid > 0) kill_and_reap(keeper_.pid, keeper_.pidfd.get());
}

Result<Process> Host::start(const std::function<int(Reporter&)>& live) const {
  GODWIT_TRY(Spawned spawned,
             spawn({.enter = [this] { return join_namespaces(keeper_.pidfd.get(), namespaces_); },
                    .live = live}));
  return Process(std::move(spawned));
}

Result<Process> Host::run(const std::vector<std::string>& command,
                          const RunOptions& options) const {
  if (command.empty()) return fail(ErrorCode::invalid_argument, "there is no command to run");
  std::vector<std::string> words = command;
  std::vector<std::string> entries = environment_with(options.environment);
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> environment = pointers_to(entries);
  return start([&](Reporter& reporter) {
    if (options.output_fd >= 0) ::dup2(options.output_fd, STDOUT_FILENO);
    if (options.error_fd >= 0) ::dup2(options.error_fd, STDERR_FILENO);
    ::execvpe(arguments.front(), arguments.data(), environment.data());
    reporter.failed({Step::execute, errno});
    return 127;
  });
}

Result<Process> Host::fork(const std::function<int()>& body) const {
  return start([&](Reporter& reporter) {
    reporter.close();
    return body();
  });
}

}  // namespace godwit::netlab
