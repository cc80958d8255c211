#include "served_node.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "base/fail.hpp"
#include "settings.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to us

namespace godwit::bench {
namespace {

constexpr int kStartTimeoutMs = 10'000;
constexpr int kEndTimeoutMs = 3'000;

Result<std::array<fabric::Fd, 2>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorCode::resource_exhausted, "no pipe to a benchmark's node: {}",
                errno_text(errno));
  }
  return std::array{fabric::Fd(ends[0]), fabric::Fd(ends[1])};
}

// Standard input is the pipe that keeps the node alive, standard output where it says its address,
// and descriptor 3 the memory for its times.
Result<pid_t> spawn_self(std::vector<std::string> arguments, int input, int output, int memory) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, memory, 3);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return fail(ErrorCode::io, "cannot start a benchmark's node: {}", errno_text(error));
  }
  return pid;
}

Result<std::string> read_line(int fd) {
  std::string line;
  pollfd wait{fd, POLLIN, 0};
  char letter = 0;
  while (::poll(&wait, 1, kStartTimeoutMs) > 0 && ::read(fd, &letter, 1) == 1) {
    if (letter == '\n') return line;
    line += letter;
  }
  return fail(ErrorCode::unreachable, "a benchmark's node did not come up within {} ms",
              kStartTimeoutMs);
}

}  // namespace

Result<ServedNode> ServedNode::start(const Options& options) {
  GODWIT_TRY(auto input, make_pipe());
  GODWIT_TRY(auto output, make_pipe());
  // Above 3, so that dup2() onto 3 never is a no-op that leaves it to be closed at exec.
  const fabric::Fd made(::memfd_create("godwit-bench-times", MFD_CLOEXEC));
  const fabric::Fd memory(::fcntl(made.get(), F_DUPFD_CLOEXEC, 10));
  if (memory.get() < 0 || ::ftruncate(memory.get(), sizeof(LoadTimes)) != 0) {
    return fail(ErrorCode::resource_exhausted, "no memory to share with a benchmark's node: {}",
                errno_text(errno));
  }
  void* shared =
      ::mmap(nullptr, sizeof(LoadTimes), PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (shared == MAP_FAILED) {
    return fail(ErrorCode::resource_exhausted, "cannot map memory shared with a node: {}",
                errno_text(errno));
  }
  ServedNode node;
  node.times_ = static_cast<LoadTimes*>(shared);
  run_on_core(options.core);
  GODWIT_TRY(node.pid_, spawn_self({"godwit-bench", kServeCommand,
                                    std::to_string(static_cast<int>(options.installed)),
                                    std::to_string(options.spin_us),
                                    std::to_string(static_cast<int>(options.transport))},
                                   input[0].get(), output[1].get(), memory.get()));
  node.alive_ = std::move(input[1]);
  output[1].reset();
  GODWIT_TRY(node.address_, read_line(output[0].get()));
  return node;
}

ServedNode::ServedNode(ServedNode&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      alive_(std::move(other.alive_)),
      times_(std::exchange(other.times_, nullptr)),
      address_(std::move(other.address_)) {}

ServedNode::~ServedNode() {
  if (times_ != nullptr) ::munmap(times_, sizeof(LoadTimes));
  if (pid_ < 0) return;
  alive_.reset();
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(kEndTimeoutMs);
  while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace godwit::bench
