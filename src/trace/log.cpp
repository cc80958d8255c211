#include "trace/log.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <mutex>
#include <vector>

#include "base/fail.hpp"
#include "trace/json.hpp"
#include "trace/repeat_filter.hpp"

namespace godwit::trace {
namespace {

class CallbackSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit CallbackSink(std::function<void(std::string_view)> callback)
      : callback_(std::move(callback)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string_view text(line.data(), line.size());
    if (text.ends_with('\n')) text.remove_suffix(1);
    callback_(text);
  }
  void flush_() override {}

  std::function<void(std::string_view)> callback_;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<Duration>(since).count()};
  }
};

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warn: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
    case Level::off: return spdlog::level::off;
  }
  return spdlog::level::err;
}

Result<spdlog::sink_ptr> make_sink(Log::Options& options) {
  if (options.sink) return std::make_shared<CallbackSink>(std::move(options.sink));
  if (options.path.empty()) return std::make_shared<spdlog::sinks::stderr_sink_st>();
  try {
    return std::make_shared<spdlog::sinks::rotating_file_sink_st>(options.path, Log::kFileSizeLimit,
                                                                  Log::kFileCount);
  } catch (const spdlog::spdlog_ex& problem) {
    return fail(ErrorCode::io,
                "cannot write the log file '{}': {}; choose a writable path, or none for stderr",
                options.path, problem.what());
  }
}

// One message stays one line, and a peer's words cannot steer the terminal that shows them.
std::string single_line(std::string_view message) {
  std::string line(message);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return line;
}

}  // namespace

// All behind one lock: the filter, the formatting and the sink.
class Log::Writer {
 public:
  Writer(const Options& options, spdlog::sink_ptr sink)
      : format_(options.format),
        source_(options.source),
        clock_(options.clock),
        filter_(options.repeat_limit, options.repeat_window),
        logger_("godwit", std::move(sink)) {
    logger_.set_level(spdlog::level::debug);
    logger_.flush_on(spdlog::level::warn);
    logger_.set_pattern(format_ == LogFormat::text ? "%Y-%m-%d %H:%M:%S.%e %v"
                                                   : R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z",%v})");
  }
  ~Writer() { flush(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void write(Level level, std::string_view kind, std::string_view message) {
    const std::lock_guard lock(mutex_);
    std::vector<RepeatFilter::Report> reports;
    const Time now = clock_ != nullptr ? clock_->now() : system_clock_.now();
    const bool admitted = filter_.admit(kind, now, reports);
    put(reports);
    if (admitted) put(level, message);
  }

  void flush() {
    const std::lock_guard lock(mutex_);
    put(filter_.drain());
    logger_.flush();
  }

 private:
  void put(const std::vector<RepeatFilter::Report>& reports) {
    for (const auto& report : reports) {
      put(Level::warn,
          fmt::format("held back {} more messages like: {}", report.held_back, report.kind));
    }
  }

  void put(Level level, std::string_view message) {
    std::string cut;
    if (message.size() > kMessageLimit) {
      cut = fmt::format("{}... (cut: {} bytes)", message.substr(0, kMessageLimit), message.size());
      message = cut;
    }
    std::string line;
    if (format_ == LogFormat::text) {
      line = fmt::format("{} {}{}{}", to_string(level), source_, source_.empty() ? "" : ": ",
                         single_line(message));
    } else {
      line = fmt::format(R"("level":"{}","source":)", to_string(level));
      append_json_string(line, source_);
      line += R"(,"message":)";
      append_json_string(line, message);
    }
    logger_.log(to_spdlog(level), spdlog::string_view_t(line));
  }

  std::mutex mutex_;
  LogFormat format_;
  std::string source_;
  SystemClock system_clock_;
  const Clock* clock_;
  RepeatFilter filter_;
  spdlog::logger logger_;
};

std::string_view to_string(Level level) noexcept {
  switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warn: return "warn";
    case Level::error: return "error";
    case Level::off: return "off";
  }
  return "unknown";
}

Result<Level> parse_level(std::string_view text) {
  for (const Level level : {Level::debug, Level::info, Level::warn, Level::error, Level::off}) {
    if (text == to_string(level)) return level;
  }
  return fail(ErrorCode::invalid_argument,
              "'{}' is not a log level; use debug, info, warn, error or off", text);
}

Result<Log> Log::create(Options options) {
  GODWIT_TRY(auto sink, make_sink(options));
  return Log(options.level, std::make_unique<Writer>(options, std::move(sink)));
}

Log Log::silent() {
  return {Level::off, nullptr};
}

Log::Log(Level level, std::unique_ptr<Writer> writer) noexcept
    : level_(level), writer_(std::move(writer)) {}
Log::Log(Log&&) noexcept = default;
Log& Log::operator=(Log&&) noexcept = default;
Log::~Log() = default;

void Log::write(Level level, std::string_view kind, std::string_view message) {
  if (enabled(level) && level != Level::off && writer_ != nullptr) {
    writer_->write(level, kind, message);
  }
}

void Log::flush() {
  if (writer_ != nullptr) writer_->flush();
}

}  // namespace godwit::trace
