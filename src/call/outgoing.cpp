#include "call/outgoing.hpp"

#include <algorithm>
#include <utility>

namespace godwit::call {
namespace {

// Free calls that a thread keeps at hand, of the pool it used last. Keeps the shelf they belong to
// alive: a thread may outlive the fleet it called.
class Tray {
 public:
  Tray() noexcept = default;
  Tray(const Tray&) = delete;
  Tray& operator=(const Tray&) = delete;
  ~Tray();

  [[nodiscard]] bool is_of(const OutgoingShelf* shelf) const noexcept {
    return shelf_.get() == shelf;
  }
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
  void change_to(std::shared_ptr<OutgoingShelf> shelf) noexcept {
    if (shelf_ != nullptr) shelf_->give_back(std::span(calls_).first(std::exchange(count_, 0)));
    shelf_ = std::move(shelf);
  }

 private:
  static constexpr std::size_t kRefill = 16;

  std::shared_ptr<OutgoingShelf> shelf_;
  std::array<OutgoingCall*, 2 * kRefill> calls_{};
  std::size_t count_ = 0;
};

// Calls may still end on a thread whose tray is gone already (in the destructor of a static).
constinit thread_local bool tray_is_gone = false;
constinit thread_local Tray tray;

Tray::~Tray() {
  change_to(nullptr);
  tray_is_gone = true;
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
    if (tray_is_gone) {
      if (shelf_->take({&call, 1}) == 0) return nullptr;
    } else {
      tray.change_to(shelf_);
    }
  }
  if (call == nullptr) call = tray.take();
  if (call != nullptr) call->references.store(1, std::memory_order_relaxed);
  return call;
}

void OutgoingPool::recycle(OutgoingCall& call) noexcept {
  call.node = {};
  call.function = nullptr;
  call.part_count = 0;
  call.time_left = {};
  call.spilled_arguments.reset();
  call.has_travel = false;
  call.is_hop = false;
  call.on_end = nullptr;
  call.user = nullptr;
  call.waiter.reset();
  call.done.store(0, std::memory_order_relaxed);
  call.continuation = nullptr;
  call.attaching = nullptr;
  call.cancelling.store(false, std::memory_order_relaxed);
  call.lent = false;
  call.state = OutgoingCall::State::idle;
  call.link = nullptr;
  call.sent_by_token = false;
  call.lost_once = false;
  call.retry_until = {};
  call.borrowed = false;
  call.outcome = {};
  call.result = {};
  call.large_result.reset();
  if (tray.is_of(call.shelf)) [[likely]] {
    tray.put(call);
  } else {
    OutgoingCall* const one = &call;
    call.shelf->give_back({&one, 1});
  }
}

}  // namespace godwit::call
