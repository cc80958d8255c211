#include "node/starting_node.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>

#include "base/fail.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to us

namespace godwit::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kReadyLineLimit = 4096;
constexpr std::streamoff kLogTail = 2000;

std::string tail_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::ate);
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kLogTail));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<pid_t> spawn(const StartingNode::Options& options, int output) {
  std::vector<std::string> words{options.executable, "node"};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (options.detached) {
    posix_spawn_file_actions_addopen(&actions, 2, options.log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGINT, SIGHUP}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
  }
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, argv.front(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return fail(ErrorCode::io, "cannot start '{}': {}", options.executable, errno_text(error));
  }
  return pid;
}

}  // namespace

Result<StartingNode> StartingNode::start(Options options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorCode::resource_exhausted, "no pipe to hear from a node: {}",
                errno_text(errno));
  }
  StartingNode node{fabric::Fd(ends[0]), options.log};
  const fabric::Fd write_end(ends[1]);
  GODWIT_TRY(node.pid_, spawn(options, write_end.get()));
  return node;
}

Result<std::vector<std::string>> StartingNode::wait_until_ready(milliseconds limit) {
  const auto until = steady_clock::now() + limit;
  std::string said;
  while (said.find('\n') == std::string::npos) {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    pollfd wait{output_.get(), POLLIN, 0};
    char chunk[512];
    ssize_t got = -1;
    if (left.count() > 0 && ::poll(&wait, 1, static_cast<int>(left.count())) > 0) {
      got = ::read(output_.get(), chunk, sizeof chunk);
    }
    if (got <= 0 || said.size() > kReadyLineLimit) {
      const pid_t pid = pid_;
      if (got == 0) ::waitpid(std::exchange(pid_, -1), nullptr, 0);
      return fail(ErrorCode::unreachable, "process {} {}; its log ends with:\n{}", pid,
                  got == 0 ? "ended at once" : "did not come up in time", tail_of(log_));
    }
    said.append(chunk, static_cast<std::size_t>(got));
  }
  std::istringstream words(said);
  std::string word;
  words >> word >> word;  // "ready NAME"
  std::vector<std::string> addresses;
  while (words >> word) addresses.push_back(word);
  if (addresses.empty()) {
    return fail(ErrorCode::unreachable, "process {} does not say where it serves, but: {}", pid_,
                said);
  }
  return addresses;
}

void StartingNode::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

}  // namespace godwit::node
