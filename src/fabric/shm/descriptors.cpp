// Messages with open descriptors, which go over the link's control socket: rare, and not fast.
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "fabric/shm/transport.hpp"

namespace godwit::fabric::shm {
namespace {

// A peer that takes none must not use up the descriptors of this process, nor those that the system
// lets a user have under way. A small message takes 768 of these.
constexpr std::size_t kMaxUnreadBytes = 128 * 1024;
static_assert(kMaxDescriptors <= ControlSocket::kMaxFdsPerFrame &&
              sizeof(wire::Header) + kMaxDescriptorBody <= ControlSocket::kMaxFrameSize);

}  // namespace

Status ShmTransport::send_descriptors(LinkId id, const wire::Header& header, Bytes body,
                                      std::span<const int> descriptors) {
  if (descriptors.empty() || descriptors.size() > kMaxDescriptors ||
      body.size() > kMaxDescriptorBody)
    return fail(ErrorCode::invalid_argument,
                "a message of {} bytes with {} descriptors: send 1 to {} with at most {} bytes",
                body.size(), descriptors.size(), kMaxDescriptors, kMaxDescriptorBody);
  Link* link = find(id);
  if (link == nullptr || link->state != Link::State::up)
    return fail(ErrorCode::link_lost, "the link that was to carry descriptors is down");
  if (link->socket->has_queued_frames() || link->socket->unread_bytes() > kMaxUnreadBytes)
    return fail(ErrorCode::overload,
                "{} has not taken the descriptors sent before; try again later",
                link->socket->peer_name());
  std::vector<Fd> copies;
  for (const int descriptor : descriptors) {
    copies.emplace_back(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    if (copies.back()) continue;
    return fail(errno == EBADF ? ErrorCode::invalid_argument : ErrorCode::resource_exhausted,
                "cannot pass descriptor {} on: {}", descriptor, errno_text(errno));
  }
  std::string frame(text_of(bytes_of_value(header)));
  frame.append(text_of(body));
  link->socket->send_owned(bytes_of(frame), std::move(copies));
  return {};
}

void ShmTransport::on_control_frame(Link& link, Bytes frame, std::vector<Fd>& fds) {
  if (!link.receives()) return;
  wire::Header header;
  if (fds.empty() || frame.size() < sizeof header ||
      frame.size() > sizeof header + kMaxDescriptorBody) {
    go_down(link, {ErrorCode::protocol_violation,
                   fmt::format("the peer sent {} bytes with {} descriptors on its control socket, "
                               "which is no message of this protocol; its process is broken or "
                               "hostile",
                               frame.size(), fds.size())});
    return;
  }
  std::memcpy(static_cast<void*>(&header), frame.data(), sizeof header);
  header.link_token = 0;
  events_.on_descriptors(link.id, header, frame.subspan(sizeof header), fds);
}

}  // namespace godwit::fabric::shm
