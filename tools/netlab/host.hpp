// A machine of a lab: namespaces of its own, held by a keeper, the first process of their PID
// namespace. When the keeper ends, the kernel kills all others there and the namespaces are gone.
// The keeper ends with this object or with the process that made it, however that ends.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "netlab/process.hpp"
#include "netlab/tun.hpp"

namespace godwit::netlab {

class Host {
 public:
  // Error: unsupported where namespaces or TUN devices are not to be had, saying why.
  [[nodiscard]] static Result<Host> create(const TunOptions& options);
  Host(Host&& other) noexcept;
  Host& operator=(Host&&) = delete;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host();

  // The device's other end; once.
  [[nodiscard]] fabric::Fd take_device() { return std::move(keeper_.descriptor); }
  [[nodiscard]] pid_t keeper_pid() const noexcept { return keeper_.pid; }

  // Executes a program, sought in PATH.
  [[nodiscard]] Result<Process> run(const std::vector<std::string>& command,
                                    const RunOptions& options) const;
  // Runs `body` in a copy of this process; its result is the exit code. The copy has the calling
  // thread only, and ends without running destructors or flushing streams.
  [[nodiscard]] Result<Process> fork(const std::function<int()>& body) const;

 private:
  Host(Spawned keeper, int namespaces) noexcept
      : keeper_(std::move(keeper)), namespaces_(namespaces) {}
  [[nodiscard]] Result<Process> start(const std::function<int(Reporter&)>& live) const;

  Spawned keeper_;
  int namespaces_;  // kinds, as setns() takes them
};

}  // namespace godwit::netlab
