#include "ref/far_side.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "ref/wire.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to us

namespace godwit::bench {
namespace {

// Above those that the far side has them as, so that dup2() onto them is never a no-op.
constexpr int kAboveThose = 10;
constexpr std::chrono::seconds kEndTimeout{3};

Result<std::array<fabric::Fd, 2>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorCode::resource_exhausted, "no pipe to the far side: {}", errno_text(errno));
  }
  return std::array{fabric::Fd(ends[0]), fabric::Fd(ends[1])};
}

Result<pid_t> spawn(std::vector<std::string> words, const std::array<int, 3>& descriptors) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    posix_spawn_file_actions_adddup2(&actions, descriptors[i], static_cast<int>(3 + i));
  }
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(ErrorCode::io, "cannot start the far side: {}", errno_text(error));
  return pid;
}

Result<fabric::Fd> connect_to(std::uint64_t port) {
  fabric::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(ErrorCode::io, "connect to the far side: {}", errno_text(errno));
  }
  const int on = 1;
  (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

fabric::Fd above_those(const fabric::Fd& fd) {
  return fabric::Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kAboveThose));
}

}  // namespace

Result<FarSide> FarSide::start(const Options& options) {
  FarSide side;
  GODWIT_TRY(auto to_far, make_pipe());
  GODWIT_TRY(auto from_far, make_pipe());
  const std::size_t bytes = Stage::kBytes + options.arena_bytes;
  GODWIT_TRY(const fabric::Fd memory, fabric::create_memory("godwit-bench-ref", bytes));
  GODWIT_TRY(side.memory_, fabric::map_memory(memory.get(), bytes, fabric::Access::write));
  const std::array<fabric::Fd, 3> theirs{above_those(to_far[0]), above_those(from_far[1]),
                                         above_those(memory)};
  GODWIT_TRY(side.pid_,
             spawn({"bench_ref", kFarSideCommand, options.address, std::to_string(options.spin_us),
                    std::to_string(bytes), options.redis_socket, options.zeromq_address},
                   {theirs[0].get(), theirs[1].get(), theirs[2].get()}));
  side.to_far_ = std::move(to_far[1]);
  side.from_far_ = std::move(from_far[0]);
  // The last writer of the far side's pipe is the far side: its end is heard of.
  from_far[1].reset();
  return [&]() -> Result<FarSide> {
    GODWIT_TRY(const std::uint64_t port, side.receive(Waiting::sleep));
    GODWIT_TRY(side.tcp_, connect_to(port));
    GODWIT_TRY(const std::uint64_t ready, side.receive(Waiting::sleep));
    static_cast<void>(ready);
    return std::move(side);
  }();
}

FarSide::FarSide(FarSide&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      to_far_(std::move(other.to_far_)),
      from_far_(std::move(other.from_far_)),
      tcp_(std::move(other.tcp_)),
      memory_(std::move(other.memory_)) {}

FarSide::~FarSide() {
  if (pid_ < 0) return;
  to_far_.reset();  // it ends when its orders do
  tcp_.reset();
  from_far_.reset();
  const auto until = std::chrono::steady_clock::now() + kEndTimeout;
  while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) {
      ::kill(pid_, SIGKILL);  // it waits for a flag that nobody sets any more
      ::waitpid(pid_, nullptr, 0);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Status FarSide::send(const Order& order) const {
  return send_value(to_far_.get(), order);
}

Result<std::uint64_t> FarSide::receive(Waiting waiting) const {
  Reply reply;
  GODWIT_CHECK(receive_value(from_far_.get(), reply, waiting));
  if (reply.failed != 0) {
    return fail(static_cast<ErrorCode>(reply.failed), "the far side: {}", reply.why);
  }
  return Result<std::uint64_t>(reply.value);
}

Result<std::uint64_t> FarSide::ask(const Order& order) const {
  GODWIT_CHECK(send(order));
  return receive(order.waiting);
}

}  // namespace godwit::bench
