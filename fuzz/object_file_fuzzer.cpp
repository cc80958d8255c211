// Files of objects from any disk: what is accepted must come back byte for byte when it is written
// again, and a name leads nowhere but to the file it names.
//
// Input: one byte chooses; then a head, a head whose checksum is put right first, or a file's name.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "ref/disk/checksum.hpp"
#include "ref/disk/object_file.hpp"

namespace {

using namespace godwit;

void require(bool condition) {
  if (!condition) std::abort();
}

void parse_head(Bytes input) {
  const auto head = ref::ObjectHead::parse(input);
  if (!head) {
    require(head.error().code == ErrorCode::bad_format && !head.error().message.empty());
    return;
  }
  const auto again = head->encode();
  require(std::memcmp(again.data(), input.data(), again.size()) == 0);
  require(head->record.handle.size <= ref::ObjectHead::kMaxObjectSize);
}

void parse_mended(Bytes input) {
  if (input.size() < ref::ObjectHead::kSize) return;
  std::vector<std::byte> head(input.begin(), input.end());
  const std::size_t at = ref::ObjectHead::kSize - sizeof(std::uint64_t);
  const std::uint64_t checksum = ref::Checksum::of(Bytes(head).first(at));
  std::memcpy(head.data() + at, &checksum, sizeof checksum);
  parse_head(head);
}

void parse_name(std::string_view text) {
  const auto name = ref::ObjectFileName::parse(text);
  if (!name) return;
  require(name->text() == text);
  require(text.find('/') == std::string_view::npos && text.find('\0') == std::string_view::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes input = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0] % 3) {
    case 0: parse_head(input); break;
    case 1: parse_mended(input); break;
    default: parse_name(text_of(input)); break;
  }
  return 0;
}
