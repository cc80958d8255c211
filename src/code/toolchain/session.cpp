#include "code/toolchain/session.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/fail.hpp"
#include "code/toolchain/process.hpp"

namespace godwit::code {

void CompileSession::say(const std::function<void(std::string_view)>& listener,
                         std::string_view text) {
  if (!listener) return;
  const std::lock_guard lock(listener_mutex_);
  listener(text);
}

Status CompileSession::run(const std::vector<std::string>& argv, const std::string& what) {
  say(request_.on_command, command_line(argv));
  GODWIT_TRY(const ProcessResult result, run_process(argv, request_.command_timeout));
  if (result.exit_code != 0) {
    return fail(ErrorCode::compile_failed, "cannot {}:\n{}", what,
                result.errors.empty() ? "the compiler said nothing" : result.errors);
  }
  if (!result.errors.empty()) say(request_.on_warning, result.errors);
  return {};
}

Status CompileSession::run_all(std::vector<UniqueFunction<Status()>> jobs) const {
  std::vector<Status> statuses(jobs.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size() && !failed; i = next++) {
      statuses[i] = jobs[i]();
      if (!statuses[i]) failed = true;
    }
  };
  std::vector<std::jthread> threads;
  const std::size_t thread_count = std::min<std::size_t>(request_.jobs, jobs.size());
  for (std::size_t i = 1; i < thread_count; ++i) threads.emplace_back(work);
  work();
  threads.clear();
  for (Status& status : statuses) {
    if (!status) return std::move(status);
  }
  return {};
}

}  // namespace godwit::code
