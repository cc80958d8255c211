// Until when an object lives, if nobody evicts it before.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace godwit {

// Kept by the object's home: it holds whatever becomes of the process that chose it.
class Lifetime {
 public:
  enum class Kind : std::uint8_t { until_evicted = 0, lease = 1, process = 2, readers = 3 };

  static constexpr Lifetime until_evicted() noexcept { return {}; }
  // For so long from now on; Ref::set_lifetime() sets it anew, longer or shorter.
  static constexpr Lifetime lease(std::chrono::nanoseconds time) noexcept {
    return {Kind::lease, 0, time};
  }
  // As long as the process that put it.
  static constexpr Lifetime process() noexcept { return {Kind::process, 0, {}}; }
  // Until it has been resolved so many times, and let go of each time.
  static constexpr Lifetime readers(std::uint32_t count) noexcept {
    return {Kind::readers, count, {}};
  }

  [[nodiscard]] constexpr Kind kind() const noexcept { return kind_; }
  [[nodiscard]] constexpr std::uint32_t reader_count() const noexcept { return readers_; }
  [[nodiscard]] constexpr std::chrono::nanoseconds time() const noexcept { return time_; }

  constexpr Lifetime() noexcept = default;

 private:
  constexpr Lifetime(Kind kind, std::uint32_t count, std::chrono::nanoseconds time) noexcept
      : kind_(kind), readers_(count), time_(time) {}

  Kind kind_ = Kind::until_evicted;
  std::uint32_t readers_ = 0;
  std::chrono::nanoseconds time_{};
};

struct PutOptions {
  Lifetime lifetime{};
  bool persist = false;  // keep it in a file of its home's, so that it outlives the home's process
  // The channel (channel.hpp) that keeps its bytes; "memory": the home itself. Empty: the policies
  // of this process's channels decide, by its size and these tags; where there are none, memory.
  std::string channel{};
  std::vector<std::string> tags{};
};

}  // namespace godwit
