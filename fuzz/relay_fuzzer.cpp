// What a relay reads of its members, what a node reads of its relay, and a link's records from
// whoever sits between its ends.
//
// Input: one byte chooses which of the three; the rest is the request, the summons, or the stream.
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "fabric/relay/request.hpp"
#include "fabric/relay/sealed_stream.hpp"

namespace {

using namespace godwit;
using namespace godwit::fabric::relay;

constexpr std::size_t kMaxStream = 32 * 1024;  // what the socket holds

void require(bool condition) {
  if (!condition) std::abort();
}

trust::Seal a_seal() {
  return trust::Seal::create(trust::Cipher::chacha20_poly1305, {}).value();
}

// Nobody guesses a tag: nothing of it opens.
void feed_stream(Bytes bytes) {
  std::array<int, 2> ends{};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const fabric::Fd peer(ends[0]);
  SealedStream stream(fabric::Fd(ends[1]), a_seal(), a_seal(), bytes.first(bytes.size() / 2));
  const Bytes rest = bytes.subspan(bytes.size() / 2);
  static_cast<void>(::send(peer.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  ::shutdown(peer.get(), SHUT_WR);
  while (true) {
    const auto record = stream.next();
    if (!record) return;
    if (*record) {
      const std::size_t size = (*record)->text_size;
      require(size <= SealedStream::kMaxText);
      const auto room = std::make_unique<std::byte[]>(size);  // the sanitizer sees its end
      require(!stream.open(**record, {room.get(), size}));
      return;
    }
    const auto moved = stream.read();
    if (!moved || *moved != SealedStream::Moved::some) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kMaxStream) return 0;
  const Bytes bytes = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0] % 3) {
    case 0:
      if (const auto request = parse_request(text_of(bytes))) {
        require(parse_request(encode(*request)).has_value());
      }
      break;
    case 1: static_cast<void>(parse_summons(bytes)); break;
    default: feed_stream(bytes);
  }
  return 0;
}
