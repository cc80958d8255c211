#include "fabric/watches.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include "base/fail.hpp"

namespace godwit::fabric {
namespace {

constexpr int kEventsPerCall = 64;

}  // namespace

Result<Watches> Watches::create() {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll)
    return fail(ErrorCode::resource_exhausted, "cannot create an epoll descriptor: {}",
                errno_text(errno));
  return Watches(std::move(epoll));
}

Status Watches::add(int fd, std::uint32_t events, FdHandler* handler) {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= entries_.size()) entries_.resize(index + 1);
  Entry& entry = entries_[index];
  ++entry.generation;
  entry.handler = handler;
  entry.used = true;
  auto status = control(EPOLL_CTL_ADD, fd, events);
  if (!status) entry.used = false;
  return status;
}

Status Watches::change(int fd, std::uint32_t events) {
  return control(EPOLL_CTL_MOD, fd, events);
}

void Watches::remove(int fd) {
  const auto index = static_cast<std::size_t>(fd);
  if (fd < 0 || index >= entries_.size() || !entries_[index].used) return;
  entries_[index].used = false;
  ++entries_[index].generation;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Status Watches::control(int operation, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<std::uint64_t>(entries_[static_cast<std::size_t>(fd)].generation)
                       << 32 |
                   static_cast<std::uint32_t>(fd);
  if (::epoll_ctl(epoll_.get(), operation, fd, &event) != 0)
    return fail(ErrorCode::io, "cannot watch descriptor {}: {}", fd, errno_text(errno));
  return {};
}

std::size_t Watches::dispatch() {
  std::array<epoll_event, kEventsPerCall> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsPerCall, 0);
  std::size_t handled = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const auto fd = static_cast<std::uint32_t>(event.data.u64);
    const Entry& entry = entries_[fd];
    const bool current = entry.used && entry.generation == event.data.u64 >> 32;
    if (!current || entry.handler == nullptr) continue;
    entry.handler->on_fd(event.events);
    ++handled;
  }
  return handled;
}

int Watches::sleep(Time now, Time deadline) {
  std::array<epoll_event, 1> events;
  const Duration left = std::max(Duration(0), deadline - now);
  timespec timeout{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
  const timespec* limit = deadline.ns == INT64_MAX ? nullptr : &timeout;
  int count = ::epoll_pwait2(epoll_.get(), events.data(), 1, limit, nullptr);
  if (count < 0 && errno == ENOSYS) {
    const std::int64_t rounded_up = (left.count() + 999'999) / 1'000'000;
    const auto left_ms = std::min<std::int64_t>(rounded_up, 3'600'000);
    count = ::epoll_wait(epoll_.get(), events.data(), 1,
                         limit != nullptr ? static_cast<int>(left_ms) : -1);
  }
  return count == 1 ? static_cast<int>(static_cast<std::uint32_t>(events[0].data.u64)) : -1;
}

}  // namespace godwit::fabric
