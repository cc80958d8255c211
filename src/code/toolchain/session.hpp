// One run of compile(): what its steps share.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "code/toolchain/compile.hpp"
#include "code/toolchain/tools.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

// Thread-safe: steps for several slices run side by side.
class CompileSession {
 public:
  // All are borrowed until the session ends.
  CompileSession(const CompileRequest& request, const Tools& tools, std::filesystem::path scratch)
      : request_(request), tools_(tools), scratch_(std::move(scratch)) {}

  [[nodiscard]] const CompileRequest& request() const noexcept { return request_; }
  [[nodiscard]] const Tools& tools() const noexcept { return tools_; }
  // A path in the scratch directory.
  [[nodiscard]] std::filesystem::path file(const std::string& name) const {
    return scratch_ / name;
  }

  // Runs one command. `what` says in the error message what it was for: "cannot <what>: ...".
  // Errors: compile_failed with the command's stderr; deadline; not_found.
  [[nodiscard]] Status run(const std::vector<std::string>& argv, const std::string& what);
  // Runs the jobs, some at a time; after a failure no further job starts. Returns the first failed
  // job's error, first in the order given.
  [[nodiscard]] Status run_all(std::vector<UniqueFunction<Status()>> jobs) const;

 private:
  void say(const std::function<void(std::string_view)>& listener, std::string_view text);

  const CompileRequest& request_;
  const Tools& tools_;
  const std::filesystem::path scratch_;
  std::mutex listener_mutex_;
};

}  // namespace godwit::code
