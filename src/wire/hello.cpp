#include "wire/hello.hpp"

#include <cstring>

#include "base/fail.hpp"

namespace godwit::wire {
namespace {

struct HelloHead {
  std::uint32_t credits = 0;
  std::uint16_t flags = 0;
  std::uint16_t name_size = 0;
};
static_assert(sizeof(HelloHead) == 8);

constexpr std::uint16_t kServes = 1;

}  // namespace

std::string encode(const PeerHello& hello) {
  HelloHead head;
  head.credits = hello.credits;
  head.flags = hello.serves ? kServes : std::uint16_t{0};
  head.name_size = static_cast<std::uint16_t>(std::min(hello.name.size(), kMaxNodeName));
  std::string blob(reinterpret_cast<const char*>(&head), sizeof head);
  blob.append(hello.name, 0, head.name_size);
  blob += hello.record;
  return blob;
}

Result<PeerHello> parse_peer_hello(std::string_view blob) {
  HelloHead head;
  if (blob.size() < sizeof head) {
    return fail(ErrorCode::protocol_violation, "hello of {} bytes is too short", blob.size());
  }
  std::memcpy(&head, blob.data(), sizeof head);
  blob.remove_prefix(sizeof head);
  if (head.name_size > kMaxNodeName || head.name_size > blob.size()) {
    return fail(ErrorCode::protocol_violation, "hello claims a name of {} bytes, {} follow",
                head.name_size, blob.size());
  }
  PeerHello hello;
  hello.credits = head.credits;
  hello.serves = (head.flags & kServes) != 0;
  hello.name = blob.substr(0, head.name_size);
  hello.record = blob.substr(head.name_size);
  return hello;
}

}  // namespace godwit::wire
