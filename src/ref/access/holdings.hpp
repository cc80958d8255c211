// What this process has at each home: pins to give back, and that it is still there.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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
  // After a link broke, until the home has answered: several times within ObjectStore::kLostGrace,
  // and for as long as a home waits for those that it hears nothing of.
  static constexpr Duration kInsistEvery = std::chrono::milliseconds(100);
  static constexpr Duration kInsistFor = ObjectStore::kHolderLease;

  explicit Holdings(const Asking& asking) : asking_(asking) {}

  void add(NodeId home);
  void remove(NodeId home);
  void release(NodeId home, std::uint64_t pin, std::uint64_t bytes);
  // Its link broke: the home ends what this process has there, unless it hears from it soon.
  void lost(NodeId home);
  // Tells all homes where there is something that it is over; nothing is posted afterwards.
  void close();

 private:
  struct Home {
    std::uint64_t held = 0;
    std::vector<std::uint64_t> pins;  // to be given back
    // After its link broke: until when it is told that this process lives, and the last attempt.
    std::optional<Time> insist_until;
    detail::CallHandle renewal;

    [[nodiscard]] bool is_empty() const noexcept { return held == 0 && pins.empty(); }
  };
  enum class Insists : std::uint8_t { no, waits, again };
  void send_pins(NodeId home, std::vector<std::uint64_t> pins);
  void arm(bool& armed, Duration after, void (Holdings::*then)());
  void forget_empty();
  void flush();
  void renew();
  void insist();
  [[nodiscard]] static Insists insists(Home& at, Time now);

  const Asking asking_;
  std::mutex mutex_;
  std::unordered_map<NodeId, Home> homes_;
  bool flush_armed_ = false;
  bool renew_armed_ = false;
  bool insist_armed_ = false;
  bool closed_ = false;
};

}  // namespace godwit::ref
