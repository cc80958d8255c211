// A network of hosts on one machine, with links as bad as a test wants them.
//
//   auto lab = Lab::create({.hosts = 2, .shape = {.delay = 300us}}).value();
//   auto server = lab->run(1, {"godwit", "node", "--listen", "tcp:" + lab->address(1) + ":7400"});
//   lab->cut({.a = 0, .b = 1});
//
// A host is a set of Linux namespaces (network, mounts, processes) with the address 10.77.0.(N+1)
// on a TUN device; the file system is this machine's. A thread of this process moves the packets.
// Needs root, or user namespaces and a /dev/net/tun that may be opened. Everything ends with the
// Lab, and with this process, however it ends. See docs/netlab.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "netlab/host.hpp"
#include "netlab/link_shape.hpp"
#include "netlab/process.hpp"
#include "netlab/switch.hpp"

namespace godwit::netlab {

inline constexpr std::uint32_t kMaxHosts = 64;

struct LabOptions {
  std::uint32_t hosts = 2;
  LinkShape shape = {};            // of every direction, to begin with
  std::uint64_t seed = 1;          // of loss and jitter
  std::uint32_t mtu_bytes = 1500;  // larger packets: more bytes per second, as loopback has them
  // The switch polls for so long before a packet is due: about what a timer is late otherwise. More
  // is of no use, 0 saves the CPU's time.
  std::chrono::microseconds spin{30};
};

// Both directions between two hosts.
struct Pair {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

// Its verbs may be called from any thread. Hosts are numbered from 0; a number beyond is an
// invalid_argument.
class Lab {
 public:
  // Error: unsupported where this machine does not let us, saying why and what to do: a reason for
  // a test to skip. invalid_argument for options that make no sense.
  [[nodiscard]] static Result<std::unique_ptr<Lab>> create(const LabOptions& options);
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  [[nodiscard]] std::uint32_t host_count() const noexcept;
  // "10.77.0.1" for host 0.
  [[nodiscard]] std::string address(std::uint32_t host) const;

  // For packets sent from now on.
  [[nodiscard]] Status set_shape(Direction direction, const LinkShape& shape);
  [[nodiscard]] Status set_shape(const LinkShape& shape);  // of every direction
  // A cut link loses every packet, also those under way, until it is healed.
  [[nodiscard]] Status set_cut(Direction direction, bool cut);
  [[nodiscard]] Status cut(Pair pair) { return set_cut(pair, true); }
  [[nodiscard]] Status heal(Pair pair) { return set_cut(pair, false); }
  [[nodiscard]] Result<LinkCounters> counters(Direction direction) const;
  [[nodiscard]] bool is_realtime() const noexcept { return switch_->is_realtime(); }

  // Host::run and Host::fork.
  [[nodiscard]] Result<Process> run(std::uint32_t host, const std::vector<std::string>& command,
                                    const RunOptions& options = {}) const;
  [[nodiscard]] Result<Process> fork(std::uint32_t host, const std::function<int()>& body) const;
  // The process whose end is the host's.
  [[nodiscard]] Result<pid_t> keeper_pid(std::uint32_t host) const;

 private:
  Lab(std::vector<Host> hosts, std::unique_ptr<Switch> the_switch)
      : hosts_(std::move(hosts)), switch_(std::move(the_switch)) {}
  Status set_cut(Pair pair, bool cut);
  [[nodiscard]] Status check_host(std::uint32_t host) const;
  [[nodiscard]] Status check_direction(Direction direction) const;

  std::vector<Host> hosts_;
  std::unique_ptr<Switch> switch_;  // ends first, and with it the devices
};

}  // namespace godwit::netlab
