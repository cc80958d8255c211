// What tests of the reactor need.
#pragma once

#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "fabric/reactor.hpp"

namespace godwit::fabric {

inline constexpr auto kPatience = std::chrono::seconds(20);

inline std::unique_ptr<Reactor> make_reactor(std::int64_t spin_us = 50) {
  auto reactor = Reactor::create({.name = "test", .spin_us = spin_us});
  return *std::move(reactor);
}

// One that sends nothing.
class MuteTransport : public Transport {
 public:
  Result<Address> listen(const Address& address) override { return address; }
  Result<LinkId> connect(const Address&) override { return LinkId{1}; }
  Sent send(LinkId, const wire::Header&, std::span<const Bytes>, std::uint64_t) override {
    return Sent::down;
  }
  std::size_t small_limit() const override { return 0; }
  void close(LinkId) override {}
};

// Work that arrives from outside through a wake-up descriptor, with a transport's arming rules.
class FakeTransport final : public MuteTransport {
 public:
  FakeTransport() : wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  // Any thread.
  void deliver() {
    arrived_.fetch_add(1);
    if (armed_.exchange(false)) ::eventfd_write(wake_.get(), 1);
  }
  void complete_on(Waiter& waiter, std::uint64_t count) {
    waiter_ = &waiter;
    complete_at_ = count;
  }
  [[nodiscard]] std::uint64_t handled() const { return handled_.load(); }
  // Who handled the latest arrival.
  [[nodiscard]] std::thread::id handled_by() const { return handled_by_.load(); }
  // How often the one that called the first has made ready to sleep, or left that to a sleeper,
  // since anybody called the second.
  void count_my_armings() { watched_ = std::this_thread::get_id(); }
  void count_armings_anew() { armings_ = 0; }
  // What arrives now ends a sleep.
  [[nodiscard]] bool is_armed() const { return armed_.load(); }
  [[nodiscard]] std::uint64_t armings() const { return armings_.load(); }

  std::size_t poll(std::size_t) override {
    armed_.store(false);
    eventfd_t rings = 0;
    if (std::exchange(maybe_rung_, false)) ::eventfd_read(wake_.get(), &rings);
    const std::uint64_t arrived = arrived_.load();
    if (arrived != handled_.load()) handled_by_ = std::this_thread::get_id();
    const std::uint64_t before = handled_.exchange(arrived);
    if (waiter_ != nullptr && arrived >= complete_at_) std::exchange(waiter_, nullptr)->complete();
    return arrived - before;
  }
  bool prepare_to_sleep() override {
    if (watched_.load() == std::this_thread::get_id()) armings_.fetch_add(1);
    armed_.store(true);
    maybe_rung_ = true;
    return arrived_.load() == handled_.load();
  }
  int wake_fd() const override { return wake_.get(); }

 private:
  Fd wake_;
  std::atomic<std::uint64_t> arrived_{0};
  std::atomic<std::uint64_t> handled_{0};
  std::atomic<bool> armed_{false};
  std::atomic<std::thread::id> handled_by_{};
  std::atomic<std::thread::id> watched_{};
  std::atomic<std::uint64_t> armings_{0};
  bool maybe_rung_ = false;
  Waiter* waiter_ = nullptr;
  std::uint64_t complete_at_ = 0;
};

inline bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace godwit::fabric
