// Groups whose ranks are threads of one process: chunks are handed over, never copied.
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fail.hpp"
#include "forward/carrier.hpp"
#include "forward/mailbox.hpp"
#include "godwit/group.hpp"

namespace godwit {
namespace forward {
namespace {

// The mailboxes of one exchange. Chunks that nobody took go home with it.
struct Board {
  explicit Board(Rank ranks) : mailboxes(static_cast<std::size_t>(ranks)) {}
  ~Board() {
    for (Mailbox& mailbox : mailboxes) {
      for (Chunk* chunk = mailbox.take(); chunk != nullptr;) {
        give_back(std::exchange(chunk, chunk->next));
      }
    }
  }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  std::vector<Mailbox> mailboxes;
};

class ThreadCarrier final : public Carrier {
 public:
  ThreadCarrier(std::shared_ptr<Board> board, Rank rank)
      : board_(std::move(board)), mine_(board_->mailboxes[static_cast<std::size_t>(rank)]) {}

  void send(Chunk* chunk) noexcept override {
    board_->mailboxes[static_cast<std::size_t>(chunk->destination)].push(chunk);
  }
  Chunk* receive() noexcept override { return mine_.take(); }
  void wait(Deadline deadline) override { mine_.wait(deadline); }
  bool hands_over(Rank /*to*/) const noexcept override { return true; }

 private:
  std::shared_ptr<Board> board_;
  Mailbox& mine_;
};

// What the members of a group have in common: the boards of exchanges that not all have opened yet.
class ThreadMeeting {
 public:
  explicit ThreadMeeting(Rank ranks) : ranks_(ranks) {}
  [[nodiscard]] Rank ranks() const noexcept { return ranks_; }

  [[nodiscard]] std::shared_ptr<Board> board(std::uint64_t serial) {
    const std::lock_guard lock(mutex_);
    auto& [board, opened] = boards_[serial];
    if (board == nullptr) board = std::make_shared<Board>(ranks_);
    std::shared_ptr<Board> result = board;
    if (++opened == ranks_) boards_.erase(serial);
    return result;
  }

 private:
  struct Opening {
    std::shared_ptr<Board> board;
    Rank opened = 0;
  };
  const Rank ranks_;
  std::mutex mutex_;
  std::map<std::uint64_t, Opening> boards_;
};

class ThreadMember final : public detail::GroupCore {
 public:
  ThreadMember(std::shared_ptr<ThreadMeeting> meeting, Rank rank)
      : meeting_(std::move(meeting)), rank_(rank) {}
  Rank rank() const noexcept override { return rank_; }
  Rank ranks() const noexcept override { return meeting_->ranks(); }
  Result<std::unique_ptr<Carrier>> open(const ExchangeSpec& /*spec*/) override {
    return std::make_unique<ThreadCarrier>(meeting_->board(opened_++), rank_);
  }

 private:
  std::shared_ptr<ThreadMeeting> meeting_;
  Rank rank_;
  std::uint64_t opened_ = 0;
};

}  // namespace
}  // namespace forward

Rank Group::rank() const noexcept {
  return core_->rank();
}
Rank Group::ranks() const noexcept {
  return core_->ranks();
}

Result<std::vector<Group>> Group::threads(Rank ranks) {
  if (ranks < 1 || ranks > kMaxRanks) {
    return fail(ErrorCode::invalid_argument, "a group has 1 to {} ranks, not {}", kMaxRanks, ranks);
  }
  const auto meeting = std::make_shared<forward::ThreadMeeting>(ranks);
  std::vector<Group> members;
  for (Rank rank = 0; rank < ranks; ++rank) {
    members.emplace_back(std::make_shared<forward::ThreadMember>(meeting, rank));
  }
  return members;
}

Status run_ranks(Rank ranks, const std::function<Status(Group&)>& body) {
  GODWIT_TRY(std::vector<Group> members, Group::threads(ranks));
  std::vector<Status> ends(members.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < members.size(); ++i) {
    threads.emplace_back([&body, &end = ends[i], member = std::move(members[i])]() mutable {
      try {
        end = body(member);
      } catch (const std::exception& error) {
        end = fail(ErrorCode::app_error, "rank {} threw: {}", member.rank(), error.what());
      } catch (...) {
        end = fail(ErrorCode::app_error, "rank {} threw something", member.rank());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Status& end : ends) GODWIT_CHECK(std::move(end));
  return {};
}

}  // namespace godwit
