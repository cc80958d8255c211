// Moves IP packets between the hosts of a lab: reads each from its sender's TUN device, keeps it
// for as long as its link says, and writes it to its receiver's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "fabric/fd.hpp"
#include "netlab/in_flight.hpp"
#include "netlab/link.hpp"

namespace godwit::netlab {

// One way between two hosts, by their numbers.
struct Direction {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

struct SwitchOptions {
  LinkShape shape = {};               // of every direction, to begin with
  std::uint64_t seed = 1;             // of loss and jitter; each direction has its own sequence
  std::uint32_t mtu_bytes = 1500;     // of the devices
  std::chrono::microseconds spin{0};  // polls for so long before a packet is due: see LabOptions
};

// Packets under way, of all links together; beyond it they are dropped and counted as crowded.
inline constexpr std::size_t kMaxHeldBytes = std::size_t{256} << 20U;

// Its verbs may be called from any thread; they wait for the packets being moved, microseconds.
class Switch {
 public:
  // `devices` are TUN devices that do not block; host N has address 10.77.0.(N + 1).
  static Result<std::unique_ptr<Switch>> create(std::vector<fabric::Fd> devices,
                                                const SwitchOptions& options);
  ~Switch();
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  // Directions are of hosts that exist, and not from a host to itself.
  void set_shape(Direction direction, const LinkShape& shape);
  void set_cut(Direction direction, bool cut);
  [[nodiscard]] LinkCounters counters(Direction direction) const;
  // Whether the thread got a realtime priority; without it, busy neighbours make it late.
  [[nodiscard]] bool is_realtime() const noexcept { return realtime_; }

 private:
  Switch(std::vector<fabric::Fd> devices, const SwitchOptions& options);
  Status open();
  void run();
  // Delivers what is due. When to be back: nothing if there is nothing under way.
  std::optional<TimePoint> deliver();
  void deliver_one();
  void wait_until(std::optional<TimePoint> when);
  void read_from(std::uint32_t host);
  [[nodiscard]] std::optional<std::uint32_t> receiver_of(std::span<const std::byte> packet) const;
  Link& link(Direction direction) {
    return links_[direction.from * devices_.size() + direction.to];
  }

  std::vector<fabric::Fd> devices_;
  const std::chrono::microseconds spin_;
  fabric::Fd events_;  // epoll
  fabric::Fd ending_;  // an eventfd; readable: the thread ends
  bool realtime_ = false;
  bool ended_ = false;          // the thread's own
  std::vector<bool> readable_;  // the thread's own

  mutable std::mutex mutex_;  // guards what follows
  std::vector<Link> links_;   // by sender, then receiver
  InFlight in_flight_;
  std::thread thread_;
};

}  // namespace godwit::netlab
