// What a process tells the people who run it.
//
// A Log is made once, by main() or by whoever puts a node together, and handed by reference to
// everything that logs; it must outlive them. There is no global one.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/scheduler.hpp"
#include "godwit/error.hpp"

namespace godwit::trace {

enum class Level : std::uint8_t { debug, info, warn, error, off };
[[nodiscard]] std::string_view to_string(Level level) noexcept;
// Accepts what to_string() prints. Error: invalid_argument, listing the levels.
[[nodiscard]] Result<Level> parse_level(std::string_view text);

enum class LogFormat : std::uint8_t {
  text,  // 2024-01-31 12:00:00.123 warn n1: link to n2 is down
  json,  // one object a line: {"time":…,"level":…,"source":…,"message":…}
};

// Thread-safe. Writing takes a lock and a system call: it has no place on a hot path.
class Log {
 public:
  struct Options {
    Level level = Level::info;
    LogFormat format = LogFormat::text;
    // Who speaks, for instance the node's name.
    std::string source{};
    // Empty: standard error. A file is rotated at kFileSizeLimit; kFileCount old ones are kept.
    std::string path{};
    // If set, complete lines (without line end) go here instead, under the log's lock.
    std::function<void(std::string_view line)> sink{};
    // A message repeated more often than this within repeat_window is counted, not written; the
    // count is written once the window is over. Messages are the same if their format string is.
    std::uint32_t repeat_limit = 20;
    Duration repeat_window = std::chrono::seconds(10);
    // Time for the window; null: the system's monotonic clock. Must outlive the log.
    const Clock* clock = nullptr;
  };
  static constexpr std::size_t kFileSizeLimit = std::size_t{64} << 20;
  static constexpr std::size_t kFileCount = 3;
  // Longer messages are cut, and say so.
  static constexpr std::size_t kMessageLimit = 16 * 1024;

  // Error: io, if the file cannot be opened for writing.
  [[nodiscard]] static Result<Log> create(Options options);
  // Writes nothing; for tests and for libraries nobody gave a log.
  [[nodiscard]] static Log silent();
  Log(Log&&) noexcept;
  Log& operator=(Log&&) noexcept;
  // Writes the counts of messages still held back.
  ~Log();

  // One comparison; guards arguments that are costly to make.
  [[nodiscard]] bool enabled(Level level) const noexcept { return level >= level_; }

  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) {
    say(Level::debug, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    say(Level::info, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    say(Level::warn, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    say(Level::error, format, std::forward<Args>(args)...);
  }

  // For a text that is not ours (mobile code's words): `kind` decides what counts as a repetition.
  void write(Level level, std::string_view kind, std::string_view message);
  // Hands everything written so far to the operating system, with the counts held back.
  void flush();

 private:
  class Writer;
  Log(Level level, std::unique_ptr<Writer> writer) noexcept;

  template <class... Args>
  void say(Level level, fmt::format_string<Args...> format, Args&&... args) {
    if (!enabled(level)) return;
    const fmt::string_view text = format;
    write(level, {text.data(), text.size()}, fmt::format(format, std::forward<Args>(args)...));
  }

  Level level_;
  std::unique_ptr<Writer> writer_;
};

}  // namespace godwit::trace
