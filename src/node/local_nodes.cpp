#include "node/local_nodes.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "node/places.hpp"
#include "node/starting_node.hpp"

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
  const std::filesystem::path log = directory_.path() / (child.name + ".log");
  std::vector<std::string> arguments{
      "--name=" + child.name, "--id=" + child.id, "--parent-pid=" + std::to_string(::getpid()),
      "--runtime-dir=" + directory_.path().string(), "--log-file=" + log.string()};
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
  GODWIT_TRY(StartingNode node, StartingNode::start({.executable = options_.executable,
                                                     .arguments = std::move(arguments),
                                                     .log = log}));
  const auto listening = node.wait_until_ready(options_.start_timeout);
  if (!listening) {
    node.kill();
    return fail(listening.error().code, "node {} did not come up: {}", child.name,
                listening.error().message);
  }
  child.pid = node.pid();
  child.address = listening->front();
  return {};
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
