#include "fabric/relay/joint.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/fail.hpp"

namespace godwit::fabric::relay {
namespace {

// For one direction before others get their turn.
constexpr std::size_t kMovedPerTurn = std::size_t{2} << 20;
constexpr std::size_t kSpliceBytes = std::size_t{1} << 20;
constexpr unsigned kSpliceFlags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;

}  // namespace

Joint::~Joint() {
  for (End& end : ends_) {
    if (end.is_watched) reactor_.unwatch(end.socket.get());
  }
}

Status Joint::start(Connection a, Connection b) {
  std::array<Connection*, 2> connections{&a, &b};
  last_moved_ = reactor_.now();
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const Bytes early = connections[i]->early;
    ends_[i].joint = this;
    ends_[i].index = i;
    ends_[i].socket = std::move(connections[i]->socket);
    if (early.empty()) continue;
    Direction& direction = directions_[i];
    direction.pipe = pipes_.take();
    if (!direction.pipe) {
      return fail(ErrorCode::resource_exhausted, "the relay is out of descriptors");
    }
    if (early.size() > kMaxEarlyBytes ||
        ::write(direction.pipe->in.get(), early.data(), early.size()) !=
            static_cast<ssize_t>(early.size())) {
      return fail(ErrorCode::protocol_violation, "too much was said before the peer was there");
    }
    direction.pipe->filled_bytes = early.size();
  }
  for (End& end : ends_) {
    GODWIT_CHECK(reactor_.watch(end.socket.get(), EPOLLIN, end));
    end.is_watched = true;
    end.watched = EPOLLIN;
  }
  if (!pump(0) || !pump(1) || !update_watches()) {
    return fail(ErrorCode::link_lost, "a side of the link ended as it began");
  }
  return {};
}

void Joint::on_ready(std::size_t index, std::uint32_t ready) {
  bool good = true;
  if ((ready & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) good = pump(index);
  if (good && (ready & EPOLLOUT) != 0) good = pump(1 - index);
  // Gone for good: level-triggered, it would be reported until whoever is slow has taken the rest.
  if (good && (ready & (EPOLLHUP | EPOLLERR)) != 0 && ends_[index].is_watched) {
    while (good && !directions_[index].blocked && !directions_[index].drained) good = pump(index);
    reactor_.unwatch(ends_[index].socket.get());
    ends_[index].is_watched = false;
    good = !directions_[1 - index].blocked;
  }
  if (good) good = update_watches();
  if (!good || (directions_[0].done && directions_[1].done)) owner_.joint_ended(*this);
}

// False: the joint is at its end.
bool Joint::pump(std::size_t from) {
  Direction& direction = directions_[from];
  direction.blocked = false;
  if (direction.done) return true;
  if (!direction.pipe) direction.pipe = pipes_.take();
  if (!direction.pipe) return false;
  Pipe& pipe = *direction.pipe;
  for (std::size_t moved = 0; moved < kMovedPerTurn;) {
    if (pipe.filled_bytes == 0) {
      if (direction.drained) break;
      const Step step = fill(from, pipe);
      if (step == Step::failed) return false;
      if (step == Step::waits) break;
      continue;
    }
    const std::size_t before = pipe.filled_bytes;
    const Step step = empty(from, pipe);
    if (step == Step::failed) return false;
    if (step == Step::waits) {
      direction.blocked = true;
      break;
    }
    moved += before - pipe.filled_bytes;
  }
  if (pipe.filled_bytes != 0) {
    // The turn is over: the receiver's room brings us back.
    direction.blocked = true;
    return true;
  }
  pipes_.give_back(std::move(pipe));
  direction.pipe.reset();
  if (direction.drained) {
    direction.done = true;
    ::shutdown(ends_[1 - from].socket.get(), SHUT_WR);
  }
  return true;
}

Joint::Step Joint::fill(std::size_t from, Pipe& pipe) {
  const ssize_t got = ::splice(ends_[from].socket.get(), nullptr, pipe.in.get(), nullptr,
                               kSpliceBytes, kSpliceFlags);
  if (got > 0) {
    pipe.filled_bytes = static_cast<std::size_t>(got);
    return Step::moved;
  }
  if (got == 0) {
    directions_[from].drained = true;
    return Step::waits;
  }
  return errno == EAGAIN || errno == EINTR ? Step::waits : Step::failed;
}

Joint::Step Joint::empty(std::size_t from, Pipe& pipe) {
  const ssize_t sent = ::splice(pipe.out.get(), nullptr, ends_[1 - from].socket.get(), nullptr,
                                pipe.filled_bytes, kSpliceFlags);
  if (sent < 0) return errno == EAGAIN || errno == EINTR ? Step::waits : Step::failed;
  pipe.filled_bytes -= static_cast<std::size_t>(sent);
  moved_bytes_ += static_cast<std::uint64_t>(sent);
  last_moved_ = reactor_.now();
  return Step::moved;
}

bool Joint::update_watches() {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    End& end = ends_[i];
    const bool reads = !directions_[i].drained && !directions_[i].blocked;
    const std::uint32_t wanted =
        (reads ? static_cast<std::uint32_t>(EPOLLIN) : 0U) |
        (directions_[1 - i].blocked ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
    if (!end.is_watched || wanted == end.watched) continue;
    if (!reactor_.rewatch(end.socket.get(), wanted)) return false;
    end.watched = wanted;
  }
  return true;
}

}  // namespace godwit::fabric::relay
