// Every message body a peer can send, and the first words of a link, as arbitrary bytes.
#include <cstddef>
#include <cstdint>

#include "wire/call.hpp"
#include "wire/hello.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const godwit::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  static_cast<void>(godwit::wire::parse_call_extensions(bytes));
  static_cast<void>(godwit::wire::parse_need_code(bytes));
  static_cast<void>(godwit::wire::parse_code(bytes));
  static_cast<void>(godwit::wire::parse_peer_hello(godwit::text_of(bytes)));
  return 0;
}
