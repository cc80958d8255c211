#include "netlab/tun.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace godwit::netlab {
namespace {

ifreq request_for(const char* interface) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  return request;
}

bool set_address(int socket, unsigned long verb, std::uint32_t address) {
  ifreq request = request_for(kInterface);
  sockaddr_in value{};
  value.sin_family = AF_INET;
  value.sin_addr.s_addr = htonl(address);
  std::memcpy(&request.ifr_addr, &value, sizeof value);
  return ::ioctl(socket, verb, &request) == 0;
}

bool bring_up(int socket, const char* interface) {
  ifreq request = request_for(interface);
  if (::ioctl(socket, SIOCGIFFLAGS, &request) != 0) return false;
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  return ::ioctl(socket, SIOCSIFFLAGS, &request) == 0;
}

struct QueueRequest {
  nlmsghdr header;
  ifinfomsg link;
  rtattr attribute;
  std::uint32_t packets;
};

// By netlink, which lets the root of a user namespace do it; neither the ioctl nor /sys does.
bool set_queue() {
  const fabric::Fd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  QueueRequest request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_NEWLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  request.link.ifi_index = static_cast<int>(::if_nametoindex(kInterface));
  request.attribute.rta_type = IFLA_TXQLEN;
  request.attribute.rta_len = RTA_LENGTH(sizeof request.packets);
  request.packets = kDeviceQueuePackets;
  struct {
    nlmsghdr header;
    nlmsgerr error;
  } answer{};
  if (!netlink || ::send(netlink.get(), &request, sizeof request, 0) < 0 ||
      ::recv(netlink.get(), &answer, sizeof answer, 0) <
          static_cast<ssize_t>(sizeof answer.header + sizeof(int))) {
    return false;
  }
  errno = -answer.error.error;
  return answer.error.error == 0;
}

bool set_up(int socket, const TunOptions& options) {
  ifreq mtu = request_for(kInterface);
  mtu.ifr_mtu = static_cast<int>(options.mtu_bytes);
  constexpr std::uint32_t kNetmask = 0xFFFFFF00;
  return ::ioctl(socket, SIOCSIFMTU, &mtu) == 0 && set_queue() &&
         set_address(socket, SIOCSIFADDR, options.address) &&
         set_address(socket, SIOCSIFNETMASK, kNetmask) && bring_up(socket, kInterface) &&
         bring_up(socket, "lo");
}

}  // namespace

std::optional<Trouble> make_interfaces(const TunOptions& options, fabric::Fd& device) {
  device = fabric::Fd(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!device) return Trouble{Step::open_tun, errno};
  ifreq request = request_for(kInterface);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (::ioctl(device.get(), TUNSETIFF, &request) != 0) return Trouble{Step::make_tun, errno};
  const fabric::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || !set_up(socket.get(), options)) return Trouble{Step::set_address, errno};
  return std::nullopt;
}

}  // namespace godwit::netlab
