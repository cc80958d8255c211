#include "netlab/switch.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include <array>
#include <cerrno>

#include "base/fail.hpp"

namespace godwit::netlab {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// What one turn does of each before it looks at the other: a flood delays others by no more.
constexpr int kReadsPerTurn = 16;
constexpr int kDeliveriesPerTurn = 64;
constexpr std::uint32_t kEnding = UINT32_MAX;
constexpr std::size_t kIpHeaderBytes = 20;

bool take_realtime_priority(std::thread& thread) {
  sched_param parameters{};
  parameters.sched_priority = ::sched_get_priority_min(SCHED_FIFO);
  return ::pthread_setschedparam(thread.native_handle(), SCHED_FIFO, &parameters) == 0;
}

}  // namespace

Result<std::unique_ptr<Switch>> Switch::create(std::vector<fabric::Fd> devices,
                                               const SwitchOptions& options) {
  std::unique_ptr<Switch> made(new Switch(std::move(devices), options));
  GODWIT_CHECK(made->open());
  made->thread_ = std::thread([raw = made.get()] { raw->run(); });
  made->realtime_ = take_realtime_priority(made->thread_);
  return made;
}

Switch::Switch(std::vector<fabric::Fd> devices, const SwitchOptions& options)
    : devices_(std::move(devices)),
      spin_(options.spin),
      readable_(devices_.size()),
      in_flight_(options.mtu_bytes, kMaxHeldBytes) {
  const std::size_t count = devices_.size() * devices_.size();
  links_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) links_.emplace_back(options.shape, options.seed + i);
}

Switch::~Switch() {
  if (thread_.joinable()) {
    ::eventfd_write(ending_.get(), 1);
    thread_.join();
  }
}

Status Switch::open() {
  events_ = fabric::Fd(::epoll_create1(EPOLL_CLOEXEC));
  ending_ = fabric::Fd(::eventfd(0, EFD_CLOEXEC));
  if (!events_ || !ending_) {
    return fail(ErrorCode::resource_exhausted, "cannot make the switch's descriptors: {}",
                errno_text(errno));
  }
  const auto watch = [this](int fd, std::uint32_t number) {
    epoll_event event{.events = EPOLLIN, .data = {.u32 = number}};
    return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  };
  bool watched = watch(ending_.get(), kEnding);
  for (std::uint32_t host = 0; host < devices_.size(); ++host) {
    watched = watched && watch(devices_[host].get(), host);
  }
  if (watched) return {};
  return fail(ErrorCode::resource_exhausted, "cannot watch the hosts' devices: {}",
              errno_text(errno));
}

void Switch::set_shape(Direction direction, const LinkShape& shape) {
  const std::lock_guard lock(mutex_);
  link(direction).set_shape(shape);
}

void Switch::set_cut(Direction direction, bool cut) {
  const std::lock_guard lock(mutex_);
  link(direction).set_cut(cut);
}

LinkCounters Switch::counters(Direction direction) const {
  const std::lock_guard lock(mutex_);
  return links_[direction.from * devices_.size() + direction.to].counters();
}

void Switch::run() {
  ::prctl(PR_SET_NAME, "netlab-switch");
  ::prctl(PR_SET_TIMERSLACK, 1);  // where there is no realtime priority, which implies it
  while (!ended_) {
    std::optional<TimePoint> next;
    {
      const std::lock_guard lock(mutex_);
      for (std::uint32_t host = 0; host < devices_.size(); ++host) {
        if (readable_[host]) read_from(host);
      }
      next = deliver();
    }
    wait_until(next);
  }
}

std::optional<TimePoint> Switch::deliver() {
  for (int i = 0; i < kDeliveriesPerTurn; ++i) {
    const auto next = in_flight_.next_arrival();
    if (!next || *next > steady_clock::now()) return next;
    deliver_one();
  }
  return in_flight_.next_arrival();
}

void Switch::deliver_one() {
  Packet packet = in_flight_.pop();
  Link& way = link({.from = packet.from, .to = packet.to});
  if (way.arrives()) {
    const ssize_t written =
        ::write(devices_[packet.to].get(), packet.bytes.get(), packet.size_bytes);
    if (written == static_cast<ssize_t>(packet.size_bytes)) {
      ++way.counters().delivered;
      way.counters().delivered_bytes += packet.size_bytes;
    } else {
      ++way.counters().refused;
    }
  }
  in_flight_.give_back(std::move(packet.bytes));
}

void Switch::wait_until(std::optional<TimePoint> when) {
  timespec timeout{};
  timespec* limit = nullptr;
  if (when) {
    limit = &timeout;
    const nanoseconds left = *when - spin_ - steady_clock::now();
    if (left > nanoseconds(0)) {
      timeout.tv_sec = left.count() / 1'000'000'000;
      timeout.tv_nsec = left.count() % 1'000'000'000;
    }
  }
  std::array<epoll_event, 32> events;
  const int count =
      ::epoll_pwait2(events_.get(), events.data(), static_cast<int>(events.size()), limit, nullptr);
  readable_.assign(readable_.size(), false);
  for (int i = 0; i < count; ++i) {
    const std::uint32_t host = events[static_cast<std::size_t>(i)].data.u32;
    if (host == kEnding) {
      ended_ = true;
    } else {
      readable_[host] = true;
    }
  }
}

void Switch::read_from(std::uint32_t host) {
  for (int i = 0; i < kReadsPerTurn; ++i) {
    auto buffer = in_flight_.take_buffer();
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): the devices do not block
    const ssize_t size = ::read(devices_[host].get(), buffer.get(), in_flight_.buffer_bytes());
    const auto size_bytes = static_cast<std::size_t>(size > 0 ? size : 0);
    const auto to = receiver_of({buffer.get(), size_bytes});
    if (!to || *to == host) {  // nothing there, or something that is not for any host
      in_flight_.give_back(std::move(buffer));
      if (size <= 0) return;
      continue;
    }
    Link& way = link({.from = host, .to = *to});
    const auto arrival = way.admit(size_bytes, steady_clock::now());
    if (!arrival || in_flight_.is_full()) {
      if (arrival) ++way.counters().crowded;
      in_flight_.give_back(std::move(buffer));
      continue;
    }
    in_flight_.push({.arrival = *arrival,
                     .from = host,
                     .to = *to,
                     .size_bytes = size_bytes,
                     .bytes = std::move(buffer)});
  }
}

std::optional<std::uint32_t> Switch::receiver_of(std::span<const std::byte> packet) const {
  const auto at = [packet](std::size_t index) {
    return std::to_integer<std::uint32_t>(packet[index]);
  };
  // IPv4 only: kernels also send IPv6 router solicitations, unasked.
  if (packet.size() < kIpHeaderBytes || at(0) >> 4U != 4) return std::nullopt;
  if (at(16) != 10 || at(17) != 77 || at(18) != 0) return std::nullopt;
  const std::uint32_t last = at(19);
  if (last == 0 || last > devices_.size()) return std::nullopt;
  return last - 1;
}

}  // namespace godwit::netlab
