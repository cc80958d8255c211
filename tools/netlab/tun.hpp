// A host's interfaces: loopback, and the TUN device through which it reaches the others.
#pragma once

#include <cstdint>

#include "fabric/fd.hpp"
#include "netlab/spawn.hpp"

namespace godwit::netlab {

inline constexpr const char* kInterface = "lab0";
inline constexpr std::uint32_t kMinMtuBytes = 576;
inline constexpr std::uint32_t kMaxMtuBytes = 65'520;
// Packets a host has sent that the switch has not read yet; beyond it the kernel drops them.
inline constexpr std::uint32_t kDeviceQueuePackets = 4096;

struct TunOptions {
  std::uint32_t address = 0;  // IPv4, in the host's byte order; the network is its /24
  std::uint32_t mtu_bytes = 1500;
};

// Makes the device in the network namespace of the calling process and brings it and loopback up.
// `device` gives and takes IP packets, one a read or write, and does not block.
[[nodiscard]] std::optional<Trouble> make_interfaces(const TunOptions& options, fabric::Fd& device);

}  // namespace godwit::netlab
