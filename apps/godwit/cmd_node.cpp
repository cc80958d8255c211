#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/fail.hpp"
#include "command.hpp"
#include "node/node.hpp"
#include "setting_flags.hpp"
#include "stop_signals.hpp"
#include "trace/log.hpp"

namespace godwit::cli {
namespace {

using std::chrono::seconds;

// A node whose functions do not return can still be stopped: after this long it leaves them.
constexpr seconds kStopLimit{5};
constexpr seconds kJoinLimit{5};

// Ends the process when stopping takes too long.
class StopWatch {
 public:
  explicit StopWatch(trace::Log& log)
      : thread_([this, &log] {
          std::unique_lock lock(mutex_);
          if (done_changed_.wait_for(lock, kStopLimit, [this] { return done_; })) return;
          log.warn("functions still run {} s after the node was told to end: leaving them",
                   kStopLimit.count());
          log.flush();
          ::_exit(0);
        }) {}
  ~StopWatch() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    done_changed_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_changed_;
  bool done_ = false;
  std::thread thread_;
};

Ended check_writable(const std::string& directory) {
  const auto refuse = [&](int error_number) {
    return tl::unexpected(Failed(
        Exit::cache_unwritable,
        {ErrorCode::permission,
         fmt::format("cache_dir: '{}' cannot be written: {}; choose another directory, or none at "
                     "all with --jit off",
                     directory, errno_text(error_number))}));
  };
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return refuse(error.value());
  const std::string probe = fmt::format("{}/.probe-{}", directory, ::getpid());
  const int fd = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return refuse(errno);
  ::close(fd);
  ::unlink(probe.c_str());
  return {};
}

// A default that does not work costs speed, and is a warning; what was asked for must be there.
Ended check_cache(const node::Configuration& configuration) {
  const node::Settings& settings = configuration.settings();
  if (configuration.source_of("cache_dir") == node::SettingSource::standard ||
      settings.jit == "off" || settings.cache_dir.empty()) {
    return {};
  }
  return check_writable(settings.cache_dir);
}

Result<trace::Log> make_log(const node::Settings& settings) {
  trace::Log::Options options;
  GODWIT_TRY(options.level, trace::parse_level(settings.log_level));
  options.format = settings.log_format == "json" ? trace::LogFormat::json : trace::LogFormat::text;
  options.source = settings.name;
  options.path = settings.log_file;
  return trace::Log::create(std::move(options));
}

// A seed that is not there yet may come; one that does not want us will not change its mind.
Status join(node::Node& node, const node::Settings& settings, trace::Log& log) {
  if (settings.join.empty()) return {};
  const Status joined = node.runtime().wait_until_joined(kJoinLimit);
  if (joined) return {};
  if (joined.error().code == ErrorCode::unauthorised) return joined;
  log.warn("no node of the fleet answers yet: {}", joined.error().message);
  return {};
}

Ended serve(const SettingFlags& flags) {
  const StopSignals signals;
  GODWIT_TRY(const node::Configuration configuration, flags.load());
  const node::Settings& settings = configuration.settings();
  GODWIT_CHECK(check_cache(configuration));
  GODWIT_TRY(trace::Log log, make_log(settings));

  auto node = node::Node::start(settings, log);
  if (node) {
    if (Status joined = join(**node, settings, log); !joined) {
      node = tl::unexpected(std::move(joined).error());
    }
  }
  if (!node) {
    // On standard error main() says it.
    if (!settings.log_file.empty()) log.error("the node does not start: {}", node.error().message);
    const bool setting = node.error().code == ErrorCode::invalid_argument;
    return tl::unexpected(setting ? Failed(Exit::usage, std::move(node).error())
                                  : Failed(std::move(node).error()));
  }
  node::Runtime& runtime = (*node)->runtime();
  fmt::print("ready {} {}\n", runtime.engine().hello().name, fmt::join(runtime.addresses(), " "));
  std::fflush(stdout);

  const int signal = signals.wait();
  log.info("ending: {}", signal == SIGINT ? "interrupted" : "told to");
  const StopWatch watch(log);
  node->reset();
  return {};
}

}  // namespace

void add_node(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root,
      {.name = "node",
       .usage = "[--config FILE] [SETTINGS]",
       .summary = "Run a node in the foreground, until SIGTERM or Ctrl-C",
       .examples = "godwit node --name a --listen tcp:127.0.0.1:7400\n"
                   "godwit node --name b --join tcp:127.0.0.1:7400 --listen tcp:127.0.0.1:0\n"
                   "godwit node --config node.toml",
       .details = "Says \"ready NAME ADDRESS...\" on standard output once it serves.\n"
                  "Each setting may also stand in a TOML file (spin_us = 0) or in the environment\n"
                  "(GODWIT_SPIN_US=0); a flag wins over the environment, and that over the file."});
  const auto flags = std::make_shared<SettingFlags>(command);
  command.callback(
      [&invocation, flags] { invocation.command = [flags] { return serve(*flags); }; });
}

}  // namespace godwit::cli
