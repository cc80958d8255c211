#include "fabric/control/socket.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "fabric/control/ancillary.hpp"

namespace godwit::fabric {
namespace {

// The buffer grows to what frames need: most links see a few small ones in their life.
constexpr std::size_t kFirstInputSize = 1024;
constexpr std::size_t kLargestInputSize = sizeof(std::uint32_t) + ControlSocket::kMaxFrameSize;
// Read in one go before others get their turn.
constexpr std::size_t kMaxReadPerTurn = std::size_t{256} << 10;
constexpr std::size_t kMaxReadsNow = 256;
constexpr std::uint32_t kLengthMask = 0xFF'FFFF;
// Descriptors that came ahead of the frame that claims them.
constexpr std::size_t kMaxWaitingFds = 2 * ControlSocket::kMaxFdsPerFrame;

std::string frame_of(Bytes body, std::size_t fd_count) {
  const auto word = static_cast<std::uint32_t>(body.size()) | static_cast<std::uint32_t>(fd_count)
                                                                  << 24;
  std::string bytes(reinterpret_cast<const char*>(&word), sizeof word);
  bytes.append(text_of(body));
  return bytes;
}

}  // namespace

ControlSocket::ControlSocket(Reactor& reactor, std::string peer_name, ControlEvents* events)
    : reactor_(reactor),
      peer_name_(std::move(peer_name)),
      events_(events),
      input_(kFirstInputSize),
      alive_(std::make_shared<bool>(true)) {}

ControlSocket::~ControlSocket() {
  *alive_ = false;
  release_fd();
}

Result<std::unique_ptr<ControlSocket>> ControlSocket::connect(Reactor& reactor,
                                                              const Address& address,
                                                              ControlEvents& events) {
  std::unique_ptr<ControlSocket> socket(new ControlSocket(reactor, address.to_string(), &events));
  if (address.scheme == Address::Scheme::shm) {
    GODWIT_TRY(socket->addresses_.emplace_back(), unix_address(address));
    socket->try_next_address();
  } else if (address.scheme == Address::Scheme::tcp) {
    socket->resolve(address);
  } else {
    return fail(ErrorCode::bad_address, "no socket reaches {}", address.to_string());
  }
  return socket;
}

Result<std::unique_ptr<ControlSocket>> ControlSocket::adopt(Reactor& reactor, Fd fd,
                                                            std::string peer_name,
                                                            ControlEvents* events) {
  std::unique_ptr<ControlSocket> socket(new ControlSocket(reactor, std::move(peer_name), events));
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  socket->is_unix_ = is_unix_socket(fd.get());
  socket->fd_ = std::move(fd);
  GODWIT_CHECK(reactor.watch(socket->fd_.get(), EPOLLIN, *socket));
  socket->opened();
  return socket;
}

// Numeric addresses are used at once; names may take seconds, so another thread looks them up.
void ControlSocket::resolve(const Address& address) {
  if (auto numeric = resolve_tcp(address, true)) {
    addresses_ = *std::move(numeric);
    try_next_address();
    return;
  }
  auto found = std::make_shared<Result<std::vector<SocketAddress>>>();
  reactor_.offload([found, address] { *found = resolve_tcp(address, false); },
                   [this, found, alive = alive_] {
                     if (!*alive || state_ == State::closed) return;
                     if (!*found) {
                       end(std::move(*found).error());
                       return;
                     }
                     addresses_ = *std::move(*found);
                     std::reverse(addresses_.begin(), addresses_.end());
                     try_next_address();
                   });
}

void ControlSocket::try_next_address() {
  int error = EADDRNOTAVAIL;
  while (!addresses_.empty()) {
    const SocketAddress address = addresses_.back();
    addresses_.pop_back();
    error = begin_connect(address);
    if (error == 0) return;
  }
  end({ErrorCode::unreachable, fmt::format("cannot reach {}: {}; is the node running there?",
                                           peer_name_, errno_text(error))});
}

// Returns an errno value; 0: connected, or under way.
int ControlSocket::begin_connect(const SocketAddress& address) {
  auto opened_fd = open_socket(address);
  if (!opened_fd) return EMFILE;
  const int rc = ::connect(opened_fd->get(), address.get(), address.size);
  if (rc != 0 && errno != EINPROGRESS) return errno;
  fd_ = *std::move(opened_fd);
  is_unix_ = address.storage.ss_family == AF_UNIX;
  want_writable_ = rc != 0;
  if (!reactor_.watch(fd_.get(), rc == 0 ? EPOLLIN : EPOLLIN | EPOLLOUT, *this)) {
    fd_.reset();
    return ENOMEM;
  }
  if (rc == 0) opened();
  return 0;
}

void ControlSocket::finish_connect() {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) {
    opened();
    return;
  }
  reactor_.unwatch(fd_.get());
  fd_.reset();
  if (!addresses_.empty()) {
    try_next_address();
    return;
  }
  end({ErrorCode::unreachable, fmt::format("cannot reach {}: {}; is the node running there?",
                                           peer_name_, errno_text(error))});
}

void ControlSocket::opened() {
  state_ = State::open;
  last_heard_ = last_sent_ = reactor_.now();
  flush();
}

void ControlSocket::set_events(ControlEvents* events) {
  events_ = events;
  if (events_ == nullptr) return;
  if (end_pending_ || input_size_ != 0) report_later();
}

void ControlSocket::send(Bytes frame, std::span<const int> fds) {
  if (state_ == State::closed) return;
  std::vector<Fd> copies;
  for (const int fd : fds) {
    copies.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copies.back()) {
      end({ErrorCode::resource_exhausted,
           fmt::format("cannot pass a descriptor to {}: {}", peer_name_, errno_text(errno))});
      return;
    }
  }
  send_owned(frame, std::move(copies));
}

void ControlSocket::send_owned(Bytes frame, std::vector<Fd> fds) {
  if (state_ == State::closed) return;
  if (frame.empty() || frame.size() > kMaxFrameSize || fds.size() > kMaxFdsPerFrame) {
    end({ErrorCode::internal, fmt::format("a control frame of {} bytes and {} descriptors exceeds "
                                          "the limits",
                                          frame.size(), fds.size())});
    return;
  }
  enqueue({frame_of(frame, fds.size()), 0, std::move(fds)});
}

void ControlSocket::enqueue(Outgoing outgoing) {
  queued_bytes_ += outgoing.bytes.size();
  outgoing_.push_back(std::move(outgoing));
  if (queued_bytes_ > kMaxQueuedBytes) {
    end({ErrorCode::unreachable, fmt::format("{} does not take its control messages", peer_name_)});
    return;
  }
  if (state_ == State::open) flush();
}

std::size_t ControlSocket::unread_bytes() const {
  int bytes = 0;
  return ::ioctl(fd_.get(), SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

// Frames go before a chunk, but not into the middle of one.
void ControlSocket::flush() {
  while (state_ == State::open && (!outgoing_.empty() || chunk_is_going_out())) {
    const bool chunk_is_next = chunk_out_.begun || outgoing_.empty();
    const int error = chunk_is_next ? write_chunk() : write_some(outgoing_.front());
    if (error == EAGAIN) {
      want_writable(true);
      return;
    }
    if (error != 0) {
      end({ErrorCode::link_lost, fmt::format("lost {}: {}", peer_name_, errno_text(error))});
      return;
    }
    if (chunk_is_next || outgoing_.front().sent < outgoing_.front().bytes.size()) continue;
    queued_bytes_ -= outgoing_.front().bytes.size();
    outgoing_.pop_front();
  }
  if (state_ == State::open) want_writable(false);
}

int ControlSocket::write_some(Outgoing& outgoing) {
  const Bytes rest = bytes_of(std::string_view(outgoing.bytes).substr(outgoing.sent));
  std::size_t sent = 0;
  const int error = send_with_fds(fd_.get(), rest, outgoing.fds, sent);
  if (error != 0) return error;
  outgoing.fds.clear();  // they went with the first byte
  outgoing.sent += sent;
  last_sent_ = reactor_.now();
  return 0;
}

void ControlSocket::want_writable(bool wanted) {
  if (want_writable_ == wanted) return;
  want_writable_ = wanted;
  const auto status = reactor_.rewatch(fd_.get(), wanted ? EPOLLIN | EPOLLOUT : EPOLLIN);
  if (!status) end(status.error());
}

void ControlSocket::on_fd(std::uint32_t ready) {
  const auto alive = alive_;
  if (state_ == State::connecting) {
    finish_connect();
  } else if ((ready & EPOLLOUT) != 0) {
    flush();
  }
  if (state_ == State::open && (ready & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) read_some();
  if (*alive) report();
}

// False: nothing was there. The socket may be gone.
bool ControlSocket::read_some() {
  const auto alive = alive_;
  std::size_t in_all = 0;
  while (state_ == State::open && in_all < kMaxReadPerTurn) {
    std::size_t received = 0;
    const int error = chunk_in_.active ? receive_chunk(received) : receive_bytes(received);
    if (error == EAGAIN) break;
    if (error != 0 || received == 0) {
      const std::string why = error == 0 ? "it closed the connection" : errno_text(error);
      end({ErrorCode::link_lost, fmt::format("lost {}: {}", peer_name_, why)});
      break;
    }
    last_heard_ = reactor_.now();
    in_all += received;
    const bool buffer_was_filled = input_size_ == input_.size();
    deliver_frames();
    if (!*alive || !buffer_was_filled) break;
  }
  return in_all != 0;
}

void ControlSocket::read_now() {
  const auto alive = alive_;
  for (std::size_t i = 0; i < kMaxReadsNow && *alive; ++i)
    if (!read_some()) return;
}

// Returns an errno value; received = 0 without one means the peer closed.
int ControlSocket::receive_bytes(std::size_t& received) {
  if (input_size_ == kLargestInputSize) return EMSGSIZE;  // nobody takes the frames
  if (input_size_ == input_.size()) input_.resize(std::min(2 * input_.size(), kLargestInputSize));
  const MutableBytes room = std::span(input_).subspan(input_size_);
  const int error = receive_with_fds(fd_.get(), room, input_fds_, received);
  if (error == 0) input_size_ += received;
  if (input_fds_.size() > kMaxWaitingFds) return EPROTO;
  return error;
}

void ControlSocket::deliver_frames() {
  const auto alive = alive_;
  while (*alive && state_ == State::open && events_ != nullptr && !chunk_in_.active)
    if (!deliver_frame()) return;
}

// False: no complete frame is there (or the socket is gone).
bool ControlSocket::deliver_frame() {
  std::uint32_t word = 0;
  if (input_size_ < kWordSize) return false;
  std::memcpy(&word, input_.data(), kWordSize);
  const std::size_t size = word & kLengthMask;
  const std::size_t fd_count = word >> 24;
  if (fd_count == kChunkMark && !is_unix_) return begin_chunk(size);
  if (fd_count == kNoticeMark && !is_unix_) return take_notice(size);
  if (size > kMaxFrameSize || fd_count > kMaxFdsPerFrame || (size == 0 && fd_count != 0)) {
    end({ErrorCode::protocol_violation,
         fmt::format("{} sent a control frame that breaks the limits", peer_name_)});
    return false;
  }
  if (input_size_ < kWordSize + size) return false;
  if (input_fds_.size() < fd_count) {
    end({ErrorCode::protocol_violation,
         fmt::format("{} announced descriptors that did not come", peer_name_)});
    return false;
  }
  const auto first = input_fds_.begin();
  const auto last = first + static_cast<std::ptrdiff_t>(fd_count);
  std::vector<Fd> fds(std::make_move_iterator(first), std::make_move_iterator(last));
  input_fds_.erase(first, last);
  // The handler may destroy this socket or be replaced: the frame must not live in either.
  const std::vector<std::byte> frame(
      input_.begin() + kWordSize, input_.begin() + static_cast<std::ptrdiff_t>(kWordSize + size));
  drop_input(kWordSize + size);
  if (size == 0) return true;
  const auto alive = alive_;
  events_->on_frame(frame, fds);
  return *alive;
}

void ControlSocket::start_heartbeat(const Heartbeat& heartbeat) {
  heartbeat_ = heartbeat;
  last_heard_ = reactor_.now();
  beat();
}

void ControlSocket::beat() {
  if (state_ != State::open) return;
  Time now = reactor_.now();
  if (now - last_heard_ >= heartbeat_.silence) {
    // This process may have been stopped, with signs of life waiting in the socket.
    const auto alive = alive_;
    read_some();
    if (!*alive || state_ != State::open) return;
    now = reactor_.now();
  }
  if (now - last_heard_ >= heartbeat_.silence) {
    end({ErrorCode::unreachable, fmt::format("lost {}: no sign of life for {} ms", peer_name_,
                                             heartbeat_.silence.count())});
    return;
  }
  if (now - last_sent_ >= heartbeat_.interval && outgoing_.empty())
    enqueue({std::string(kWordSize, '\0'), 0, {}});
  if (state_ != State::open) return;
  // A ping that could not be sent counts as sent for the schedule, or the timer would spin.
  const Time send_at = std::max(last_sent_ + heartbeat_.interval, now + heartbeat_.interval / 4);
  beat_timer_ =
      reactor_.post_at(std::min(send_at, last_heard_ + heartbeat_.silence), [this] { beat(); });
}

void ControlSocket::close() {
  if (state_ == State::open) flush();
  end_pending_ = false;
  state_ = State::closed;
  release_fd();
}

void ControlSocket::end(Error why) {
  if (state_ == State::closed) return;
  state_ = State::closed;
  end_reason_ = std::move(why);
  end_pending_ = true;
  release_fd();
  report_later();
}

void ControlSocket::report_later() {
  reactor_.post([this, alive = alive_] {
    if (!*alive) return;
    deliver_frames();
    if (*alive) report();
  });
}

void ControlSocket::report() {
  if (!end_pending_ || events_ == nullptr) return;
  end_pending_ = false;
  events_->on_closed(end_reason_);
}

void ControlSocket::release_fd() {
  reactor_.cancel(beat_timer_);
  beat_timer_ = {};
  if (!fd_) return;
  reactor_.unwatch(fd_.get());
  fd_.reset();
  outgoing_.clear();
  queued_bytes_ = 0;
  chunk_out_ = {};
  chunk_in_ = {};
}

}  // namespace godwit::fabric
