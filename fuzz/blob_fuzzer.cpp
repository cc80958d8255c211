// Types, blobs and written values from anybody: the parser of canonical strings, the C++ decoder,
// the formatter and the reader of command-line words.
//
// Input: one byte chooses; for the formatter the text of a type, a zero byte, and a blob; for words
// a signature and the words, zero bytes between.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/bytes.hpp"
#include "code/types/text.hpp"
#include "code/types/type.hpp"
#include "godwit/codec.hpp"
#include "godwit/mobile/std.hpp"

namespace fuzzed {

struct Plain {
  double x = 0;
  std::uint32_t n = 0;
  bool on = false;
};
GODWIT_STRUCT(Plain, x, n, on);

struct Packed {
  std::string name;
  std::vector<Plain> plains;
  std::map<std::int32_t, std::optional<std::vector<std::string>>> map;
};
GODWIT_STRUCT(Packed, name, plains, map);

void require(bool condition) {
  if (!condition) std::abort();
}

void decode_blob(godwit::Bytes input) {
  const godwit::Buffer blob = godwit::Buffer::copy_of(input);
  std::tuple<std::uint8_t, std::span<const Plain>, std::string_view, Packed,
             std::vector<std::vector<std::int16_t>>, std::tuple<bool, std::string>>
      values;
  godwit::DecodeError error;
  if (!godwit::decode(blob.view(), values, error)) return;
  for (const Plain& plain : std::get<1>(values)) require(plain.on == true || plain.on == false);
  require(std::get<2>(values).size() <= blob.size());
}

void parse_text(std::string_view text) {
  using namespace godwit::code;
  if (const auto type = parse_type(text)) {
    require(type->text() == text);
    require(parse_type(type->text()).value() == *type);
  }
  if (const auto signature = parse_signature(text)) {
    require(signature->text() == text);
    (void)head_layout(signature->parameters);
  }
}

void format_blob(std::string_view text, godwit::Bytes blob) {
  const auto type = godwit::code::parse_type(text);
  if (!type) return;
  (void)godwit::code::format_text(*type, blob);
  (void)godwit::code::format_json(*type, blob);
}

void read_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find('\0');
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (words.back().starts_with('@')) return;  // files are not the subject
  }
  const auto signature = godwit::code::parse_signature(words.front());
  if (!signature) return;
  (void)godwit::code::encode_text(*signature, std::span(words).subspan(1));
}

}  // namespace fuzzed

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const godwit::Bytes input = std::as_bytes(std::span(data, size)).subspan(1);
  const std::string_view text = godwit::text_of(input);
  const std::size_t zero = text.find('\0');
  switch (data[0] % 4) {
    case 0: fuzzed::decode_blob(input); break;
    case 1: fuzzed::parse_text(text); break;
    case 2:
      if (zero != std::string_view::npos) {
        fuzzed::format_blob(text.substr(0, zero), input.subspan(zero + 1));
      }
      break;
    default: fuzzed::read_words(text); break;
  }
  return 0;
}
