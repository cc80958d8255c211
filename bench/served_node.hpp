// A node made of the same parts as `godwit node`, with loaders of the benchmark's own: one that
// notes when code is loaded, and one whose code was there before.
//
// It runs in a process of its own: this program, started again (serve_node()).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "fabric/fd.hpp"
#include "godwit/error.hpp"
#include "godwit/fleet.hpp"

namespace godwit::bench {

enum class Installed : std::uint8_t {
  nothing,   // code comes from its callers
  echo,      // the functions of mobile/echo.cpp, compiled into this program
  compiler,  // nothing, but the JIT is loaded and warm
};

// When the node's last first load of a bundle began and ended, on the clock of floors::now_ns(). In
// memory that both processes map.
struct LoadTimes {
  std::atomic<std::uint64_t> begin_ns{0};
  std::atomic<std::uint64_t> end_ns{0};
  // Bitcode that was loaded quickly, and of it what has been loaded again, optimised.
  std::atomic<std::uint64_t> fast{0};
  std::atomic<std::uint64_t> optimised{0};
};

class ServedNode {
 public:
  struct Options {
    Installed installed = Installed::nothing;
    LocalTransport transport = LocalTransport::shm;
    std::int64_t spin_us = 50;
    int core = -1;
  };
  // Waits until it serves; the calling thread's core changes. Errors: io, unreachable.
  [[nodiscard]] static Result<ServedNode> start(const Options& options);
  ServedNode(ServedNode&& other) noexcept;
  ServedNode& operator=(ServedNode&&) = delete;
  ~ServedNode();

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const LoadTimes& last_load() const { return *times_; }

 private:
  ServedNode() = default;
  pid_t pid_ = -1;
  fabric::Fd alive_;  // the node ends when this is closed, also by this process's death
  LoadTimes* times_ = nullptr;
  std::string address_;
};

// The node's side. `arguments` are those that ServedNode::start() passes; returns the exit status.
inline constexpr const char* kServeCommand = "serve-node";
int serve_node(int argc, char** argv);

}  // namespace godwit::bench
