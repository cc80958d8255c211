#include "forward/fleet/watched_group.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"

namespace godwit::forward {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};

class WatchedCarrier final : public Carrier {
 public:
  WatchedCarrier(std::unique_ptr<Carrier> inner, const Interrupted& interrupted)
      : inner_(std::move(inner)), interrupted_(interrupted) {}

  void send(Chunk* chunk) noexcept override { inner_->send(chunk); }
  Chunk* receive() noexcept override { return inner_->receive(); }
  void wait(Deadline deadline) override {
    inner_->wait(std::min(deadline, std::chrono::steady_clock::now() + kLookEvery));
  }
  std::optional<Error> lost() override {
    if (auto lost = inner_->lost()) return lost;
    if (!why_) why_ = interrupted_();
    return why_;
  }
  bool hands_over(Rank to) const noexcept override { return inner_->hands_over(to); }
  std::shared_ptr<ChunkArena> arena() override { return inner_->arena(); }
  void recover() noexcept override { inner_->recover(); }

 private:
  const std::unique_ptr<Carrier> inner_;
  const Interrupted& interrupted_;
  std::optional<Error> why_;
};

class WatchedMember final : public detail::GroupCore {
 public:
  WatchedMember(std::shared_ptr<detail::GroupCore> inner, Interrupted interrupted)
      : inner_(std::move(inner)), interrupted_(std::move(interrupted)) {}

  Rank rank() const noexcept override { return inner_->rank(); }
  Rank ranks() const noexcept override { return inner_->ranks(); }
  Result<std::unique_ptr<Carrier>> open(const ExchangeSpec& spec) override {
    GODWIT_TRY(auto carrier, inner_->open(spec));
    return std::make_unique<WatchedCarrier>(std::move(carrier), interrupted_);
  }

 private:
  const std::shared_ptr<detail::GroupCore> inner_;
  const Interrupted interrupted_;
};

}  // namespace

std::shared_ptr<detail::GroupCore> watched(std::shared_ptr<detail::GroupCore> member,
                                           Interrupted interrupted) {
  return std::make_shared<WatchedMember>(std::move(member), std::move(interrupted));
}

}  // namespace godwit::forward
