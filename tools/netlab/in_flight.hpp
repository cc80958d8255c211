// The packets that are under way in a lab, in the order in which they arrive.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "netlab/link.hpp"

namespace godwit::netlab {

struct Packet {
  TimePoint arrival{};
  std::uint64_t serial = 0;  // of two that arrive at the same time, the earlier one goes first
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::size_t size_bytes = 0;
  std::unique_ptr<std::byte[]> bytes = nullptr;

  [[nodiscard]] std::span<const std::byte> content() const { return {bytes.get(), size_bytes}; }
};

// Owned by the switch's thread. Buffers are used again, so that a steady flow allocates nothing.
class InFlight {
 public:
  // Each packet takes a buffer of the largest size, whatever its own.
  InFlight(std::size_t buffer_bytes, std::size_t limit_bytes)
      : buffer_bytes_(buffer_bytes), max_packets_(limit_bytes / buffer_bytes) {}

  [[nodiscard]] bool is_full() const noexcept { return packets_.size() >= max_packets_; }
  [[nodiscard]] std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }

  [[nodiscard]] std::unique_ptr<std::byte[]> take_buffer() {
    if (spare_.empty()) return std::make_unique_for_overwrite<std::byte[]>(buffer_bytes_);
    auto buffer = std::move(spare_.back());
    spare_.pop_back();
    return buffer;
  }
  void give_back(std::unique_ptr<std::byte[]> buffer) { spare_.push_back(std::move(buffer)); }

  void push(Packet packet) {
    packet.serial = next_serial_++;
    packets_.push_back(std::move(packet));
    std::push_heap(packets_.begin(), packets_.end(), later);
  }
  [[nodiscard]] std::optional<TimePoint> next_arrival() const {
    if (packets_.empty()) return std::nullopt;
    return packets_.front().arrival;
  }
  // The one that arrives next; there is one.
  [[nodiscard]] Packet pop() {
    std::pop_heap(packets_.begin(), packets_.end(), later);
    Packet packet = std::move(packets_.back());
    packets_.pop_back();
    return packet;
  }

 private:
  static bool later(const Packet& a, const Packet& b) {
    return std::pair(a.arrival, a.serial) > std::pair(b.arrival, b.serial);
  }

  std::size_t buffer_bytes_;
  std::size_t max_packets_;
  std::vector<Packet> packets_;                      // a heap
  std::vector<std::unique_ptr<std::byte[]>> spare_;  // at most as many as were ever under way
  std::uint64_t next_serial_ = 0;
};

}  // namespace godwit::netlab
