#include "floors/fork_server.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/fail.hpp"
#include "floors/pair.hpp"
#include "floors/report.hpp"

namespace godwit::floors {
namespace {

using Request = std::variant<UcpAmOptions, SharedFlagOptions, SocketEchoOptions, UcpChaseOptions>;
static_assert(std::is_trivially_copyable_v<Request>);

// Holds what is dear to make between requests.
class Measurer {
 public:
  Result<Sample> operator()(const UcpAmOptions& options) { return measure_ucp_am(options); }
  Result<Sample> operator()(const SharedFlagOptions& options) {
    return measure_shared_flag(options);
  }
  Result<Sample> operator()(const SocketEchoOptions& options) {
    return measure_socket_echo(options);
  }
  Result<Sample> operator()(const UcpChaseOptions& options) {
    if (!list_ || list_->next().size() != options.elements) {
      list_.reset();
      GODWIT_TRY(list_, ChaseList::create(options.elements));
    }
    return measure_ucp_chase(options, *list_);
  }

 private:
  std::optional<ChaseList> list_;
};

void serve_requests(int fd) {
  Request request;
  Measurer measurer;
  while (receive_all(fd, &request, sizeof request)) {
    const auto sample = std::visit(measurer, request);
    const Report report = Report::of(sample);
    if (!send_all(fd, &report, sizeof report)) return;
  }
}

Result<Sample> ask(int fd, const Request& request) {
  GODWIT_CHECK(send_all(fd, &request, sizeof request));
  Report report;
  GODWIT_CHECK(receive_all(fd, &report, sizeof report));
  return report.result();
}

}  // namespace

Result<ForkServer> ForkServer::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(ErrorCode::resource_exhausted, "floors: socketpair: {}", errno_text(errno));
  }
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return fail(ErrorCode::resource_exhausted, "floors: fork: {}", errno_text(error));
  }
  if (child == 0) {
    ::close(ends[0]);
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent) serve_requests(ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  return ForkServer(child, ends[0]);
}

ForkServer::ForkServer(ForkServer&& other) noexcept
    : child_(std::exchange(other.child_, -1)), fd_(std::exchange(other.fd_, -1)) {}

ForkServer& ForkServer::operator=(ForkServer&& other) noexcept {
  if (this != &other) {
    stop();
    child_ = std::exchange(other.child_, -1);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

ForkServer::~ForkServer() {
  stop();
}

void ForkServer::stop() noexcept {
  if (child_ < 0) return;
  ::close(fd_);  // the child reads end of file and leaves
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

Result<Sample> ForkServer::measure(const UcpAmOptions& options) {
  return ask(fd_, options);
}
Result<Sample> ForkServer::measure(const SharedFlagOptions& options) {
  return ask(fd_, options);
}
Result<Sample> ForkServer::measure(const SocketEchoOptions& options) {
  return ask(fd_, options);
}
Result<Sample> ForkServer::measure(const UcpChaseOptions& options) {
  return ask(fd_, options);
}

}  // namespace godwit::floors
