#include "call/outgoing.hpp"

#include <algorithm>
#include <utility>

namespace godwit::call {
namespace {

// Free calls that a thread keeps at hand, of the pool it used last. Trivially destructible: calls
// may still end on a thread whose thread-locals are being destroyed.
class Tray {
 public:
  [[nodiscard]] bool is_of(const OutgoingShelf* shelf) const noexcept { return shelf_ == shelf; }
  [[nodiscard]] OutgoingCall* take() {
    if (count_ == 0) {
      count_ = shelf_->take(std::span(calls_).first(kRefill));
      if (count_ == 0) return nullptr;
    }
    return calls_[--count_];
  }
  void put(OutgoingCall& call) noexcept {
    if (count_ == calls_.size()) {
      count_ -= kRefill;
      shelf_->give_back(std::span(calls_).subspan(count_));
    }
    calls_[count_++] = &call;
  }
  void change_to(OutgoingShelf* shelf) noexcept {
    if (shelf_ != nullptr) shelf_->give_back(std::span(calls_).first(std::exchange(count_, 0)));
    shelf_ = shelf;
  }

 private:
  static constexpr std::size_t kRefill = 16;

  OutgoingShelf* shelf_ = nullptr;
  std::array<OutgoingCall*, 2 * kRefill> calls_{};
  std::size_t count_ = 0;
};

constinit thread_local Tray tray;
constinit thread_local bool keeper_is_gone = false;

// Keeps the shelf of the tray's calls alive: a thread may outlive the fleet it called.
struct Keeper {
  std::shared_ptr<OutgoingShelf> shelf;
  ~Keeper() {
    tray.change_to(nullptr);
    keeper_is_gone = true;
  }
};
constinit thread_local Keeper keeper;

void use_tray_for(const std::shared_ptr<OutgoingShelf>& shelf) noexcept {
  tray.change_to(shelf.get());
  keeper.shelf = shelf;
}

}  // namespace

std::size_t OutgoingShelf::take(std::span<OutgoingCall*> calls) {
  const std::lock_guard lock(mutex_);
  if (free_.empty() && chunks_.size() * kChunk < OutgoingPool::kMaxCalls) {
    const auto first = static_cast<std::uint32_t>(chunks_.size() * kChunk);
    chunks_.push_back(std::make_unique<OutgoingCall[]>(kChunk));
    free_.reserve(chunks_.size() * kChunk);
    for (std::size_t i = kChunk; i-- > 0;) {
      OutgoingCall& call = chunks_.back()[i];
      call.index = first + static_cast<std::uint32_t>(i);
      call.shelf = this;
      free_.push_back(&call);
    }
  }
  const std::size_t count = std::min(calls.size(), free_.size());
  std::copy_n(free_.end() - static_cast<std::ptrdiff_t>(count), count, calls.begin());
  free_.resize(free_.size() - count);
  return count;
}

void OutgoingShelf::give_back(std::span<OutgoingCall* const> calls) noexcept {
  const std::lock_guard lock(mutex_);
  free_.insert(free_.end(), calls.begin(), calls.end());  // never allocates: take() made room
}

OutgoingCall* OutgoingPool::acquire() {
  OutgoingCall* call = nullptr;
  if (!tray.is_of(shelf_.get())) [[unlikely]] {
    if (keeper_is_gone) {
      if (shelf_->take({&call, 1}) == 0) return nullptr;
    } else {
      use_tray_for(shelf_);
    }
  }
  if (call == nullptr) call = tray.take();
  if (call != nullptr) call->references.store(1, std::memory_order_relaxed);
  return call;
}

void OutgoingPool::recycle(OutgoingCall& call) noexcept {
  if (call.has_rare) [[unlikely]] {
    OutgoingCall::Rare& rare = call.rare();
    rare.spilled_arguments.reset();
    rare.large_result.reset();
    rare.objects.clear();
    rare.counted.reset();
    rare.done.store(0, std::memory_order_relaxed);
    rare.retry_until = {};
  }
  call.function = nullptr;
  call.on_end = nullptr;
  call.time_left = {};
  call.waiter.reset();
  call.continuation = nullptr;
  call.state = OutgoingCall::State::idle;
  call.sent_by_token = false;
  call.lost_once = false;
  call.borrowed = false;
  call.has_travel = false;
  call.has_change = false;
  call.has_objects = false;
  call.is_hop = false;
  call.lent = false;
  call.stays = false;
  call.has_rare = false;
  call.cancelling.store(false, std::memory_order_relaxed);
  call.outcome = {};
  call.part_count = 0;
  if (tray.is_of(call.shelf)) [[likely]] {
    tray.put(call);
  } else {
    OutgoingCall* const one = &call;
    call.shelf->give_back({&one, 1});
  }
}

}  // namespace godwit::call
