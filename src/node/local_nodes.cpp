#include "node/local_nodes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "fabric/fd.hpp"
#include "node/places.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to us

namespace godwit::node {
namespace {

// A node leaves functions that do not return after 5 s; longer means that it does not end.
constexpr std::chrono::milliseconds kEndLimit{7000};

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Waits for a child to end; false if it has not by then.
bool reap(pid_t pid, milliseconds at_most) {
  const auto until = steady_clock::now() + at_most;
  while (true) {
    const pid_t got = ::waitpid(pid, nullptr, WNOHANG);
    if (got == pid || (got < 0 && errno == ECHILD)) return true;
    if (steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
}

}  // namespace

Result<std::unique_ptr<LocalNodes>> LocalNodes::start(std::size_t count, Options options) {
  GODWIT_TRY(const std::filesystem::path executable, find_executable(options.executable));
  options.executable = executable.string();
  GODWIT_TRY(code::RuntimeDirectory directory, make_runtime_directory());
  std::unique_ptr<LocalNodes> nodes(new LocalNodes(std::move(directory), std::move(options)));
  for (std::size_t i = 0; i < count; ++i) {
    Child child;
    child.name = "n" + std::to_string(i);
    child.id = to_hex(random_node_id().value);
    nodes->children_.push_back(std::move(child));
    GODWIT_CHECK(nodes->spawn(i));
  }
  return nodes;
}

LocalNodes::~LocalNodes() {
  for (const Child& child : children_) {
    if (child.pid > 0) ::kill(child.pid, SIGTERM);
  }
  for (Child& child : children_) {
    if (child.pid <= 0 || reap(child.pid, kEndLimit)) continue;
    ::kill(child.pid, SIGKILL);
    ::waitpid(child.pid, nullptr, 0);
  }
}

std::vector<std::string> LocalNodes::addresses() const {
  std::vector<std::string> all;
  for (const Child& child : children_) {
    if (child.pid > 0) all.push_back(child.address);
  }
  return all;
}

std::size_t LocalNodes::index_of(const std::string& name) const {
  std::size_t index = 0;
  while (index < children_.size() && children_[index].name != name) ++index;
  return index;
}

Status LocalNodes::spawn(std::size_t index) {
  Child& child = children_[index];
  const std::string own = node_address(directory_.path(), child.name);
  std::vector<std::string> arguments{
      options_.executable,
      "node",
      "--name=" + child.name,
      "--id=" + child.id,
      "--parent-pid=" + std::to_string(::getpid()),
      "--runtime-dir=" + directory_.path().string(),
      "--log-file=" + (directory_.path() / child.name).string() + ".log"};
  if (options_.tcp) {
    // A restarted node comes back where it was.
    arguments.push_back("--listen=" + (child.address.empty() ? "tcp:127.0.0.1:0" : child.address));
  } else {
    arguments.push_back("--listen=" + own);
  }
  for (const std::string& seed : addresses()) {
    arguments.push_back("--join=" + seed);
    break;
  }
  for (const std::string& more : options_.node_arguments) arguments.push_back(more);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorCode::resource_exhausted, "no pipe to hear from a node: {}",
                errno_text(errno));
  }
  const fabric::Fd read_end(ends[0]);
  fabric::Fd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
  const int error = ::posix_spawn(&child.pid, options_.executable.c_str(), &actions, nullptr,
                                  argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  write_end.reset();
  if (error != 0) {
    child.pid = -1;
    return fail(ErrorCode::io, "cannot start {}: {}", options_.executable, errno_text(error));
  }
  return wait_until_ready(child, read_end.get());
}

// The node says "ready NAME ADDRESS…" once it serves.
Status LocalNodes::wait_until_ready(Child& child, int output) {
  const auto until = steady_clock::now() + options_.start_timeout;
  std::string said;
  while (said.find('\n') == std::string::npos) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now());
    pollfd wait{output, POLLIN, 0};
    char chunk[512];
    ssize_t got = -1;
    if (left.count() > 0 && ::poll(&wait, 1, static_cast<int>(left.count())) > 0) {
      got = ::read(output, chunk, sizeof chunk);
    }
    if (got <= 0) {
      ::kill(child.pid, SIGKILL);
      ::waitpid(std::exchange(child.pid, -1), nullptr, 0);
      return fail(ErrorCode::unreachable, "node {} did not come up{}; its log ends with:\n{}",
                  child.name, got == 0 ? "" : " in time", log_tail(child.name));
    }
    said.append(chunk, static_cast<std::size_t>(got));
  }
  std::istringstream words(said);
  std::string ready;
  std::string name;
  words >> ready >> name >> child.address;
  return {};
}

std::string LocalNodes::log_tail(const std::string& name) const {
  std::ifstream log(directory_.path() / (name + ".log"));
  std::ostringstream all;
  all << log.rdbuf();
  const std::string text = all.str();
  constexpr std::size_t kTail = 2000;
  return text.size() > kTail ? text.substr(text.size() - kTail) : text;
}

Status LocalNodes::kill(std::size_t index) {
  Child& child = children_[index];
  if (child.pid <= 0) return fail(ErrorCode::not_found, "node {} does not run", child.name);
  ::kill(child.pid, SIGKILL);
  ::waitpid(std::exchange(child.pid, -1), nullptr, 0);
  return {};
}

Status LocalNodes::restart(std::size_t index) {
  if (children_[index].pid > 0) GODWIT_CHECK(kill(index));
  return spawn(index);
}

}  // namespace godwit::node
