#include "run_trace.hpp"

#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/fail.hpp"
#include "trace/chrome_trace.hpp"

namespace godwit::cli {

Result<RunTrace> RunTrace::create(std::string path) {
  RunTrace made(std::move(path));
  if (made.path_.empty()) return made;
  if (!std::ofstream(made.path_)) {
    return fail(ErrorCode::io, "cannot write the trace '{}': {}", made.path_, errno_text(errno));
  }
  made.ring_ = std::make_unique<trace::EventRing>(kMaxEvents);
  return made;
}

void RunTrace::span(std::string_view name, std::uint32_t track,
                    std::chrono::steady_clock::time_point started, std::chrono::nanoseconds took,
                    std::uint64_t argument) {
  if (ring_ == nullptr) return;
  ++spans_;
  const std::chrono::nanoseconds since = started - origin_;
  ring_->record(name, track, Time{since.count()}, took, argument);
}

Result<RunTrace::Written> RunTrace::write() const {
  if (ring_ == nullptr) return Written{};
  const std::vector<trace::Event> events = ring_->snapshot();
  const trace::TracedProcess process{.pid = static_cast<std::uint32_t>(::getpid()),
                                     .name = "godwit run"};
  std::ofstream file(path_);
  file << trace::chrome_trace_json(process, events) << std::flush;
  if (!file) {
    return fail(ErrorCode::io, "cannot write the trace '{}': {}", path_, errno_text(errno));
  }
  return Written{spans_, events.size()};
}

}  // namespace godwit::cli
