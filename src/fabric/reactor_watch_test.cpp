#include <gtest/gtest.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <chrono>

#include "fabric/reactor.hpp"

namespace godwit::fabric {
namespace {

constexpr auto kLongEnough = std::chrono::seconds(20);

TEST(ReactorWatch, WatchedDescriptorCallsItsHandlerUntilUnwatched) {
  auto reactor = Reactor::create({.name = "test", .spin_us = 0}).value();
  struct Handler final : FdHandler {
    void on_fd(std::uint32_t) override {
      eventfd_t value = 0;
      ::eventfd_read(fd.get(), &value);
      calls += 1;
    }
    Fd fd{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    std::atomic<int> calls{0};
  } handler;
  ASSERT_TRUE(reactor->watch(handler.fd.get(), EPOLLIN, handler));
  ASSERT_TRUE(reactor->start());
  for (int i = 1; i <= 20; ++i) {
    ::eventfd_write(handler.fd.get(), 1);
    const Time limit = reactor->now() + kLongEnough;
    while (handler.calls.load() < i && reactor->now() < limit) ::sched_yield();
    ASSERT_EQ(handler.calls.load(), i);
  }
  Waiter waiter;
  reactor->post([&] {
    reactor->unwatch(handler.fd.get());
    waiter.complete();
  });
  ASSERT_TRUE(reactor->wait(waiter, reactor->now() + kLongEnough));
  ::eventfd_write(handler.fd.get(), 1);
  reactor->stop();
  EXPECT_EQ(handler.calls.load(), 20);
}

// The sleeping thread takes the one event there is to wake up, and leaves none for the handler.
TEST(ReactorWatch, OneShotWatchIsRefusedBecauseASleeperWouldLoseIt) {
  auto reactor = Reactor::create({}).value();
  const Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  struct Ignore final : FdHandler {
    void on_fd(std::uint32_t) override {}
  } ignore;
  const Status watched = reactor->watch(event.get(), EPOLLIN | EPOLLONESHOT, ignore);
  ASSERT_FALSE(watched);
  EXPECT_EQ(watched.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace godwit::fabric
