#include "forward/cuda/forked_group_for_test.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/fail.hpp"
#include "forward/carrier.hpp"

namespace godwit::cuda {
namespace {

using forward::Chunk;

constexpr std::size_t kMaxMessage = 32 * 1024;

struct Envelope final : godwit::detail::ChunkHome {
  virtual ~Envelope() = default;
  void give_back(Chunk*) noexcept override { delete this; }
  Chunk chunk;
  std::byte bytes[kMaxMessage];
};

class SocketCarrier final : public forward::Carrier {
 public:
  explicit SocketCarrier(std::vector<int> sockets) : sockets_(std::move(sockets)) {}

  void send(Chunk* chunk) noexcept override {
    std::byte message[kMaxMessage];
    std::memcpy(message, &chunk->kind, sizeof chunk->kind);
    std::memcpy(message + kHead, chunk->items(), chunk->used);
    const int to = sockets_[static_cast<std::size_t>(chunk->destination)];
    if (::send(to, message, kHead + chunk->used, MSG_NOSIGNAL) < 0) lost_ = chunk->destination;
    godwit::detail::give_back(chunk);
  }
  Chunk* receive() noexcept override {
    for (std::size_t rank = 0; rank < sockets_.size(); ++rank) {
      if (sockets_[rank] < 0) continue;
      std::byte message[kMaxMessage];
      const ssize_t got = ::recv(sockets_[rank], message, sizeof message, MSG_DONTWAIT);
      if (got == 0) lost_ = static_cast<Rank>(rank);
      if (got <= 0) continue;
      auto* const envelope = new Envelope;
      Chunk& chunk = envelope->chunk;
      chunk.home = envelope;
      chunk.data = envelope->bytes;
      chunk.used = static_cast<std::uint32_t>(static_cast<std::size_t>(got) - kHead);
      chunk.source = static_cast<Rank>(rank);
      std::memcpy(&chunk.kind, message, sizeof chunk.kind);
      std::memcpy(chunk.data, message + kHead, chunk.used);
      return &chunk;
    }
    return nullptr;
  }
  void wait(forward::Deadline deadline) override {
    std::vector<pollfd> fds;
    for (const int fd : sockets_) {
      if (fd >= 0) fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    ::poll(fds.data(), fds.size(), static_cast<int>(std::max<long>(left.count(), 0)));
  }
  std::optional<Error> lost() override {
    if (lost_ < 0) return std::nullopt;
    return Error{ErrorCode::node_lost, fmt::format("rank {} is gone", lost_)};
  }

 private:
  static constexpr std::size_t kHead = 8;
  std::vector<int> sockets_;  // by rank; -1 for this one
  Rank lost_ = -1;
};

class ForkedMember final : public godwit::detail::GroupCore {
 public:
  ForkedMember(Rank rank, std::vector<int> sockets) : rank_(rank), sockets_(std::move(sockets)) {}
  Rank rank() const noexcept override { return rank_; }
  Rank ranks() const noexcept override { return static_cast<Rank>(sockets_.size()); }
  Result<std::unique_ptr<forward::Carrier>> open(const forward::ExchangeSpec&) override {
    return std::make_unique<SocketCarrier>(sockets_);
  }

 private:
  Rank rank_;
  std::vector<int> sockets_;
};

struct EndMessage {
  std::chrono::steady_clock::time_point at;  // one clock for all processes
  std::uint16_t code = 0;
  char text[1000] = {};
};

[[noreturn]] void be_child(Rank rank, std::vector<int> sockets, int report,
                           const std::function<Status(Group&)>& body) {
  EndMessage end;
  {
    Group group(std::make_shared<ForkedMember>(rank, std::move(sockets)));
    if (const Status status = body(group); !status) {
      end.code = static_cast<std::uint16_t>(status.error().code);
      status.error().message.copy(end.text, sizeof end.text - 1);
    }
  }
  end.at = std::chrono::steady_clock::now();
  const bool told = ::write(report, &end, sizeof end) == sizeof end;
  ::_exit(told ? 0 : 1);
}

RankEnd read_end(int report, pid_t child) {
  EndMessage message;
  RankEnd end;
  const ssize_t got = ::read(report, &message, sizeof message);
  end.at = message.at;
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(report);
  end.killed = got != sizeof message;
  if (end.killed) {
    end.status = fail(ErrorCode::crashed, "the process ended with status {}", status);
  } else if (message.code != 0) {
    end.status = tl::unexpected(Error{static_cast<ErrorCode>(message.code), message.text});
  }
  return end;
}

}  // namespace

std::vector<RankEnd> run_forked(Rank ranks, const std::function<Status(Group&)>& body) {
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<std::vector<int>> sockets(count, std::vector<int>(count, -1));
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      int pair[2] = {-1, -1};
      if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return {};
      sockets[a][b] = pair[0];
      sockets[b][a] = pair[1];
    }
  }
  std::vector<pid_t> children;
  std::vector<int> reports;
  for (std::size_t rank = 0; rank < count; ++rank) {
    int report[2] = {-1, -1};
    if (::pipe2(report, O_CLOEXEC) != 0) return {};
    const pid_t child = ::fork();
    if (child == 0) {
      for (std::size_t other = 0; other < count; ++other) {
        for (const int fd : sockets[other]) {
          if (other != rank && fd >= 0) ::close(fd);
        }
      }
      be_child(static_cast<Rank>(rank), sockets[rank], report[1], body);
    }
    ::close(report[1]);
    children.push_back(child);
    reports.push_back(report[0]);
  }
  for (const auto& row : sockets) {
    for (const int fd : row) {
      if (fd >= 0) ::close(fd);
    }
  }
  std::vector<RankEnd> ends;
  for (std::size_t rank = 0; rank < count; ++rank) {
    ends.push_back(read_end(reports[rank], children[rank]));
  }
  return ends;
}

}  // namespace godwit::cuda
