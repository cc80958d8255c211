// A place for tests to run the built executable in: its own directories, environment and clean-up.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace godwit::cli {

constexpr std::chrono::seconds kTestLimit{60};

struct Ran {
  int exit_code = -1;  // 128 + signal if a signal ended it, -1 if it had to be killed
  std::string output;
  std::string errors;
};

// One run of the executable. Killed when this object or the test's process ends.
class Running {
 public:
  Running(const std::vector<std::string>& arguments, const std::filesystem::path& output,
          const std::filesystem::path& errors);
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::string output() const;
  void signal(int number) const;
  // Waits for its end; kills it if that takes longer than a test may.
  Ran finish();

 private:
  pid_t pid_ = -1;
  std::filesystem::path output_;
  std::filesystem::path errors_;
};

// Directories that go away with the test, and with them every fleet started there: a guard process
// sees to it however the test ends. One per test process.
class Sandbox {
 public:
  Sandbox();
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const;

  // Runs `godwit ARGUMENTS` to its end, or starts it.
  Ran run(const std::vector<std::string>& arguments);
  std::unique_ptr<Running> start(const std::vector<std::string>& arguments);

 private:
  std::filesystem::path path_;
  int runs_ = 0;
  int guard_pipe_ = -1;
  pid_t guard_ = -1;
};

// Polls until it holds; false if it does not in time.
bool eventually(const std::function<bool()>& holds);

}  // namespace godwit::cli
