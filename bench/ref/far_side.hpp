// The other process of a measurement: this program, started again. It joins the same fleet, and has
// the same memory mapped.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>

#include "fabric/fd.hpp"
#include "fabric/memory/memfd.hpp"
#include "godwit/error.hpp"
#include "ref/order.hpp"

namespace godwit::bench {

// One thread.
class FarSide {
 public:
  struct Options {
    std::string address;  // of a node of the fleet to join
    std::int64_t spin_us = 0;
    std::size_t arena_bytes = 0;
    std::string redis_socket{};    // empty: without
    std::string zeromq_address{};  // likewise
  };
  // Waits until it is ready. The arena is touched by both by then. Errors: io, resource_exhausted,
  // and what the far side says.
  [[nodiscard]] static Result<FarSide> start(const Options& options);
  FarSide(FarSide&& other) noexcept;
  FarSide& operator=(FarSide&&) = delete;
  ~FarSide();

  [[nodiscard]] Status send(const Order& order) const;
  [[nodiscard]] Result<std::uint64_t> receive(Waiting waiting) const;
  [[nodiscard]] Result<std::uint64_t> ask(const Order& order) const;

  [[nodiscard]] Stage& stage() const noexcept { return *reinterpret_cast<Stage*>(memory_.data()); }
  [[nodiscard]] std::span<std::byte> arena() const noexcept {
    return {memory_.data() + Stage::kBytes, memory_.size() - Stage::kBytes};
  }
  // A connection over the loopback device.
  [[nodiscard]] int tcp() const noexcept { return tcp_.get(); }
  // Writes into the pipe past the orders.
  [[nodiscard]] int pipe() const noexcept { return to_far_.get(); }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  FarSide() = default;
  pid_t pid_ = -1;
  fabric::Fd to_far_;
  fabric::Fd from_far_;
  fabric::Fd tcp_;
  fabric::Mapping memory_;
};

// The far side's program. `arguments` are those that FarSide::start() passes.
inline constexpr const char* kFarSideCommand = "--as-far-side";
int run_far_side(int argc, char** argv);

}  // namespace godwit::bench
