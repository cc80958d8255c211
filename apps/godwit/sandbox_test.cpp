#include "sandbox_test.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace godwit::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

[[noreturn]] void become(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{GODWIT_EXECUTABLE};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(GODWIT_EXECUTABLE, argv.data());
  ::_exit(127);
}

// The guard: waits until the test's end of the pipe is gone, then ends what was left.
[[noreturn]] void guard(int pipe, const fs::path& path) {
  ::setsid();
  char byte = 0;
  while (::read(pipe, &byte, 1) < 0 && errno == EINTR) {
  }
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path / "run" / "fleets", ignored)) {
    const pid_t child = ::fork();
    if (child == 0) {
      const int nowhere = ::open("/dev/null", O_WRONLY);
      ::dup2(nowhere, 1);
      ::dup2(nowhere, 2);
      become({"down", "--fleet", entry.path().filename().string()});
    }
    ::waitpid(child, nullptr, 0);
  }
  fs::remove_all(path, ignored);
  ::_exit(0);
}

}  // namespace

Running::Running(const std::vector<std::string>& arguments, const fs::path& output,
                 const fs::path& errors)
    : output_(output), errors_(errors) {
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(::open("/dev/null", O_RDONLY), 0);
  ::dup2(::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
  ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
  become(arguments);
}

Running::~Running() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::string Running::output() const {
  return read(output_);
}

void Running::signal(int number) const {
  ::kill(pid_, number);
}

Ran Running::finish() {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pollfd wait{fd, POLLIN, 0};
  const bool ended =
      ::poll(&wait, 1, static_cast<int>(kTestLimit / std::chrono::milliseconds(1))) > 0;
  ::close(fd);
  if (!ended) ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  Ran ran{.output = read(output_), .errors = read(errors_)};
  if (ended) ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

Sandbox::Sandbox() {
  std::string name = (fs::temp_directory_path() / "godwit-cli-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = name;
  fs::create_directory(path_ / "run");
  ::setenv("GODWIT_RUNTIME_DIR", (path_ / "run").c_str(), 1);
  ::setenv("XDG_CACHE_HOME", (path_ / "cache").c_str(), 1);
  for (const char* variable : {"GODWIT_CONFIG", "GODWIT_KEY_FILE", "GODWIT_NAME"}) {
    ::unsetenv(variable);
  }
  // Detached nodes become ours to wait for: not every system's first process does that.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  guard_ = ::fork();
  if (guard_ == 0) {
    ::close(ends[1]);
    guard(ends[0], path_);
  }
  ::close(ends[0]);
  guard_pipe_ = ends[1];
}

Sandbox::~Sandbox() {
  ::close(guard_pipe_);
  ::waitpid(guard_, nullptr, 0);
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

std::string Sandbox::write(const std::string& name, const std::string& content) const {
  std::ofstream(path_ / name) << content;
  return file(name);
}

Ran Sandbox::run(const std::vector<std::string>& arguments) {
  return start(arguments)->finish();
}

std::unique_ptr<Running> Sandbox::start(const std::vector<std::string>& arguments) {
  const std::string number = std::to_string(runs_++);
  return std::make_unique<Running>(arguments, path_ / ("out" + number), path_ / ("err" + number));
}

bool eventually(const std::function<bool()>& holds) {
  const auto until = steady_clock::now() + kTestLimit;
  while (!holds()) {
    if (steady_clock::now() >= until) return false;
    ::poll(nullptr, 0, 2);
  }
  return true;
}

}  // namespace godwit::cli
