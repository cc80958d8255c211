#include "redis.hpp"

#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "floors/pair.hpp"
#include "settings.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to us

namespace godwit::bench {
namespace {

constexpr std::chrono::seconds kStartTimeout{5};
constexpr std::size_t kPayload = 64;

// A command in the server's protocol: an array of strings with their lengths.
std::string command(const std::vector<std::string>& words) {
  std::string out = fmt::format("*{}\r\n", words.size());
  for (const std::string& word : words) out += fmt::format("${}\r\n{}\r\n", word.size(), word);
  return out;
}

std::string bulk(const std::string& text) {
  return fmt::format("${}\r\n{}\r\n", text.size(), text);
}

fabric::Fd connect_to(const std::filesystem::path& path) {
  fabric::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(fd.get(), generic, sizeof address) != 0) return {};
  return fd;
}

Result<pid_t> spawn_server(const std::filesystem::path& directory) {
  std::vector<std::string> words{
      "redis-server", "--port", "0", "--unixsocket", directory / "redis.sock", "--dir",
      directory,      "--save", "",  "--logfile",    directory / "log"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, "redis-server", nullptr, nullptr, argv.data(), environ);
  if (error != 0) {
    return fail(ErrorCode::not_found, "redis-server cannot be started: {}", errno_text(error));
  }
  return pid;
}

}  // namespace

Result<Redis> Redis::start(int core) {
  std::string name = (std::filesystem::temp_directory_path() / "godwit-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return fail(ErrorCode::io, "no temporary directory for redis-server: {}", errno_text(errno));
  }
  Redis redis;
  redis.directory_ = name;
  run_on_core(core);
  GODWIT_TRY(redis.pid_, spawn_server(redis.directory_));
  const auto until = std::chrono::steady_clock::now() + kStartTimeout;
  while (!redis.connection_) {
    if (std::chrono::steady_clock::now() > until) {
      return fail(ErrorCode::unreachable, "redis-server did not come up");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    redis.connection_ = connect_to(redis.directory_ / "redis.sock");
  }
  const std::string library =
      "#!lua name=bench\nredis.register_function('echo', function(keys, args) return args[1] end)";
  const std::string loaded = bulk("bench");
  GODWIT_TRY(const std::string answer,
             redis.ask(command({"FUNCTION", "LOAD", library}), loaded.size()));
  if (answer != loaded) {
    return fail(ErrorCode::unsupported, "redis-server has no functions (before 7.0?): {}", answer);
  }
  return redis;
}

Redis::Redis(Redis&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      directory_(std::exchange(other.directory_, {})),
      connection_(std::move(other.connection_)) {}

Redis::~Redis() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);  // it has nothing to save
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Result<std::string> Redis::ask(const std::string& request, std::size_t answer_size) const {
  GODWIT_CHECK(floors::send_all(connection_.get(), request.data(), request.size()));
  std::string answer(answer_size, '\0');
  std::size_t have = 0;
  while (have < answer_size) {
    const ssize_t got = ::read(connection_.get(), answer.data() + have, answer_size - have);
    if (got <= 0) return fail(ErrorCode::io, "redis-server hung up");
    have += static_cast<std::size_t>(got);
    if (answer.front() == '-') break;  // an error, of any length
  }
  answer.resize(have);
  return answer;
}

Result<floors::Sample> Redis::time_echo(std::size_t rounds) const {
  const std::string payload(kPayload, 'x');
  const std::string request = command({"FCALL", "echo", "0", payload});
  const std::string expected = bulk(payload);
  floors::RoundTrips times(rounds);
  const std::uint64_t begin_ns = floors::now_ns();
  std::uint64_t sent_ns = begin_ns;
  for (std::size_t round = 0; round < rounds; ++round) {
    GODWIT_TRY(const std::string answer, ask(request, expected.size()));
    if (answer != expected) return fail(ErrorCode::io, "redis-server answered: {}", answer);
    const std::uint64_t answered_ns = floors::now_ns();
    times.add(answered_ns - sent_ns);
    sent_ns = answered_ns;
  }
  return times.summarise(sent_ns - begin_ns);
}

}  // namespace godwit::bench
