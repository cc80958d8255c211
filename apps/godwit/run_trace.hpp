// What a command did and when, for Perfetto and chrome://tracing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/error.hpp"
#include "trace/events.hpp"

namespace godwit::cli {

// Keeps the last kMaxEvents spans; does nothing if it was made without a file. One thread.
class RunTrace {
 public:
  static constexpr std::size_t kMaxEvents = std::size_t{1} << 16;

  // An empty path: no trace. Errors: io, before anything is done, if the file cannot be written.
  [[nodiscard]] static Result<RunTrace> create(std::string path);

  // Does the work, and keeps how long it took.
  template <class Work>
  auto timed(std::string_view name, Work work) {
    const auto started = std::chrono::steady_clock::now();
    auto result = work();
    span(name, 0, started, std::chrono::steady_clock::now() - started);
    return result;
  }
  // Tracks are drawn one below the other; what overlaps belongs on different ones.
  void span(std::string_view name, std::uint32_t track,
            std::chrono::steady_clock::time_point started, std::chrono::nanoseconds took,
            std::uint64_t argument = 0);
  // Says how many spans there were and how many of them are in the file.
  struct Written {
    std::uint64_t spans = 0;
    std::uint64_t kept = 0;
  };
  [[nodiscard]] Result<Written> write() const;
  [[nodiscard]] bool is_on() const noexcept { return ring_ != nullptr; }

 private:
  explicit RunTrace(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::chrono::steady_clock::time_point origin_ = std::chrono::steady_clock::now();
  std::unique_ptr<trace::EventRing> ring_;
  std::uint64_t spans_ = 0;
};

}  // namespace godwit::cli
