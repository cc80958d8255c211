// Waiting, without a thread, for promises that other homes keep.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/fail.hpp"
#include "ref/access/access.hpp"
#include "ref/home/service.hpp"

namespace godwit::ref {

// One question to a home, which answers when the promise is kept or broken. Ends, and is ended,
// when the call does, whatever that ends in.
class ObjectService::PromiseWatch final : public detail::Continuation {
 public:
  PromiseWatch(ObjectService& service, std::uint64_t waiter, detail::CallHandle call)
      : service_(service), waiter_(waiter), call_(std::move(call)) {}

  // Both may run() before they return, so the service's lock is not held, and somebody else has a
  // share in this.
  void begin() { call_.attach(*this); }
  void cancel() { call_.cancel(); }
  // Nobody is interested any more. Under the service's lock.
  void abandon() noexcept { abandoned_ = true; }

  // On the executor, or where that is full on whatever thread ends the call.
  void run() noexcept override {
    std::shared_ptr<PromiseWatch> self;
    const std::lock_guard lock(service_.mutex_);
    const auto place = service_.watches_.find(waiter_);
    self = std::move(place->second);
    service_.watches_.erase(place);
    if (!abandoned_) service_.options_.wake(waiter_);
    service_.left_.notify_all();
  }

 private:
  ObjectService& service_;
  const std::uint64_t waiter_;
  detail::CallHandle call_;
  bool abandoned_ = false;
};

ObjectService::~ObjectService() = default;

Result<bool> ObjectService::is_settled(const Handle& handle, Duration at_most,
                                       std::uint64_t waiter) {
  if (is_own(handle)) return store_.wait(handle, 0, waiter);
  std::shared_ptr<PromiseWatch> watch;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || access_ == nullptr) return true;
    const wire::ObjectItem item{.handle = handle, .c = 1};
    auto call = start(access_->asking(),
                      {.home = NodeId{handle.home},
                       .op = wire::ObjectOp::wait,
                       .items = {&item, 1},
                       // The call's own end comes first, and ends this: so it is told as that.
                       .time_left = std::max(at_most, Duration{}) + std::chrono::seconds(2)},
                      Ask::at_once);
    if (!call) {
      return fail(ErrorCode::overload, "this process has too many calls outstanding, or no memory");
    }
    watch = std::make_shared<PromiseWatch>(*this, waiter, std::move(call));
    watches_.emplace(waiter, watch);
  }
  watch->begin();
  return false;
}

// Only one of them knows it.
void ObjectService::stop_waiting(std::uint64_t waiter) {
  store_.stop_waiting(waiter);
  if (streams_ != nullptr) streams_->stop_waiting(waiter);
  std::shared_ptr<PromiseWatch> watch;
  {
    const std::lock_guard lock(mutex_);
    const auto place = watches_.find(waiter);
    if (place == watches_.end()) return;
    watch = place->second;
    watch->abandon();
  }
  watch->cancel();
}

}  // namespace godwit::ref
