#include "ref/channel/redis/stream.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "ref/channel/redis/tls.hpp"

namespace godwit::ref {
namespace {

constexpr const char* kStandardPort = "6379";

struct HostPort {
  std::string host;
  std::string port = kStandardPort;
};

HostPort split(const std::string& address) {
  HostPort split;
  std::string_view text = address;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    split.host = text.substr(1, end == std::string_view::npos ? end : end - 1);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (text.starts_with(':') && text.size() > 1) split.port = text.substr(1);
    return split;
  }
  const std::size_t colon = text.rfind(':');
  split.host = text.substr(0, colon);
  if (colon != std::string_view::npos && colon + 1 < text.size()) {
    split.port = text.substr(colon + 1);
  }
  return split;
}

struct Candidate {
  sockaddr_storage address{};
  socklen_t size = 0;
};

Result<std::vector<Candidate>> look_up(const std::string& address) {
  std::vector<Candidate> found;
  if (address.starts_with('/')) {
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    if (address.size() >= sizeof local.sun_path) {
      return fail(ErrorCode::bad_address, "{} is too long for a Unix socket", address);
    }
    std::memcpy(local.sun_path, address.c_str(), address.size() + 1);
    Candidate& candidate = found.emplace_back();
    std::memcpy(&candidate.address, &local, sizeof local);
    candidate.size = sizeof local;
    return found;
  }
  const HostPort where = split(address);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(where.host.c_str(), where.port.c_str(), &hints, &list);
  if (error != 0) {
    return fail(ErrorCode::unreachable, "{} is no address of a host: {}", address,
                ::gai_strerror(error));
  }
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    Candidate& candidate = found.emplace_back();
    std::memcpy(&candidate.address, entry->ai_addr, entry->ai_addrlen);
    candidate.size = entry->ai_addrlen;
  }
  ::freeaddrinfo(list);
  return found;
}

}  // namespace

Stream::Stream(std::string address, const Options& options)
    : address_(std::move(address)), options_(options) {}

Stream::~Stream() = default;

tl::unexpected<Error> Stream::lost(const char* verb) const {
  return fail(ErrorCode::link_lost, "cannot {} {}: {}", verb, address_, errno_text(errno));
}

Status Stream::wait_for(short events) {
  pollfd wanted{.fd = socket_.get(), .events = events, .revents = 0};
  const auto until = std::chrono::steady_clock::now() + options_.time_out;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready > 0) return {};
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return lost("wait for");
    return fail(ErrorCode::deadline, "{} did nothing for {} ms", address_,
                options_.time_out.count());
  }
}

Status Stream::open_socket() {
  GODWIT_TRY(const std::vector<Candidate> candidates, look_up(address_));
  Error why{ErrorCode::unreachable, address_ + " has no address"};
  for (const Candidate& candidate : candidates) {
    socket_ = fabric::Fd(
        ::socket(candidate.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) return lost("make a socket for");
    const int one = 1;
    static_cast<void>(::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
    const auto* where = reinterpret_cast<const sockaddr*>(&candidate.address);
    int error = ::connect(socket_.get(), where, candidate.size) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      const Status writable = wait_for(POLLOUT);
      socklen_t size = sizeof error;
      if (!writable) {
        why = {ErrorCode::unreachable, writable.error().message};
        continue;
      }
      ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0) return {};
    why = {ErrorCode::unreachable,
           fmt::format("cannot connect to {}: {}", address_, errno_text(error))};
  }
  return tl::unexpected(std::move(why));
}

Result<std::unique_ptr<Stream>> Stream::connect(const std::string& address,
                                                const Options& options) {
  std::unique_ptr<Stream> stream(new Stream(address, options));
  GODWIT_CHECK(stream->open_socket());
  if (options.tls == nullptr) return stream;
  GODWIT_TRY(stream->tls_,
             TlsSession::create(*options.tls, stream->socket_.get(), split(address).host));
  for (;;) {
    const auto step = stream->tls_->shake_hands();
    if (!step) return fail(step.error().code, "{}: {}", address, step.error().message);
    if (step->wants == TlsSession::Wants::nothing) return stream;
    GODWIT_CHECK(stream->wait_for(step->wants == TlsSession::Wants::to_read ? POLLIN : POLLOUT));
  }
}

Status Stream::write_plain(std::span<const Bytes> parts) {
  constexpr std::size_t kPartsAtOnce = 64;
  std::size_t done = 0;  // of the first part
  while (!parts.empty()) {
    std::array<iovec, kPartsAtOnce> pieces{};
    const std::size_t count = std::min(parts.size(), kPartsAtOnce);
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes part = i == 0 ? parts[i].subspan(done) : parts[i];
      pieces[i] = {const_cast<std::byte*>(part.data()), part.size()};
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      GODWIT_CHECK(wait_for(POLLOUT));
      continue;
    }
    if (sent < 0) return lost("write to");
    done += static_cast<std::size_t>(sent);
    while (!parts.empty() && done >= parts.front().size()) {
      done -= parts.front().size();
      parts = parts.subspan(1);
    }
  }
  return {};
}

Status Stream::write(std::span<const Bytes> parts) {
  if (tls_ == nullptr) return write_plain(parts);
  for (Bytes part : parts) {
    while (!part.empty()) {
      auto step = tls_->write(part);
      if (!step) return fail(step.error().code, "{}: {}", address_, step.error().message);
      if (step->wants == TlsSession::Wants::nothing && step->bytes == 0) {
        return fail(ErrorCode::link_lost, "{} has ended the connection", address_);
      }
      part = part.subspan(step->bytes);
      if (step->wants == TlsSession::Wants::nothing) continue;
      GODWIT_CHECK(wait_for(step->wants == TlsSession::Wants::to_read ? POLLIN : POLLOUT));
    }
  }
  return {};
}

Result<std::size_t> Stream::read(MutableBytes into) {
  for (;;) {
    short wanted = POLLIN;
    if (tls_ != nullptr) {
      const auto step = tls_->read(into);
      if (!step) return fail(step.error().code, "{}: {}", address_, step.error().message);
      if (step->bytes > 0) return step->bytes;
      if (step->wants == TlsSession::Wants::nothing) break;
      if (step->wants == TlsSession::Wants::to_write) wanted = POLLOUT;
    } else {
      const ssize_t got = ::recv(socket_.get(), into.data(), into.size(), 0);
      if (got > 0) return static_cast<std::size_t>(got);
      if (got == 0) break;
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return lost("read from");
    }
    GODWIT_CHECK(wait_for(wanted));
  }
  return fail(ErrorCode::link_lost, "{} has ended the connection", address_);
}

}  // namespace godwit::ref
