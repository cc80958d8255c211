// What this process has at each home: pins to give back, and that it is still there.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "ref/access/access.hpp"

namespace godwit::ref {

// Any thread. Shared with the tasks it posts, which may outlive its owner.
class ObjectAccess::Holdings : public std::enable_shared_from_this<Holdings> {
 public:
  // Pins are given back in one message once there are so many, or after a while.
  static constexpr std::size_t kPinsPerMessage = 64;
  static constexpr Duration kFlushAfter = std::chrono::milliseconds(20);
  // Memory of this size is better used again than made anew meanwhile: its pin goes back at once.
  static constexpr std::uint64_t kManyBytes = std::uint64_t{256} << 10;
  // Several times within ObjectStore::kHolderLease.
  static constexpr Duration kRenewEvery = std::chrono::seconds(3);

  explicit Holdings(const Asking& asking) : asking_(asking) {}

  void add(NodeId home);
  void remove(NodeId home);
  void release(NodeId home, std::uint64_t pin, std::uint64_t bytes);
  // Tells all homes where there is something that it is over; nothing is posted afterwards.
  void close();

 private:
  struct Home {
    std::uint64_t held = 0;
    std::vector<std::uint64_t> pins;  // to be given back
  };
  void send_pins(NodeId home, std::vector<std::uint64_t> pins);
  void arm(bool& armed, Duration after, void (Holdings::*then)());
  void flush();
  void renew();

  const Asking asking_;
  std::mutex mutex_;
  std::unordered_map<NodeId, Home> homes_;
  bool flush_armed_ = false;
  bool renew_armed_ = false;
  bool closed_ = false;
};

}  // namespace godwit::ref
