#include "region_elements.hpp"

#include <charconv>
#include <cstring>

#include "base/fail.hpp"
#include "code/types/text.hpp"

namespace godwit::cli {

Result<code::Type> element_type(std::string_view text) {
  auto type = code::parse_type(text);
  if (!type) {
    return fail(ErrorCode::invalid_argument, "'{}' is no type: {}", text, type.error().message);
  }
  if (!type->plain || type->size == 0) {
    return fail(ErrorCode::invalid_argument,
                "'{}' cannot be the type of a region's elements: take a number, or an array or "
                "struct of numbers",
                text);
  }
  return type;
}

Result<Buffer> elements_of(const code::Type& type, std::span<const std::string> words) {
  const code::Signature one{.parameters = {type}, .result = {}};
  Buffer elements = Buffer::allocate(words.size() * type.size);
  if (elements.size() != words.size() * type.size) {
    return fail(ErrorCode::out_of_memory, "no memory for {} elements", words.size());
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto blob = code::encode_text(one, words.subspan(i, 1));
    if (!blob) {
      return fail(ErrorCode::invalid_argument, "value {} of {}, '{}', is no {}: {}", i + 1,
                  words.size(), words[i], type.text(), blob.error().message);
    }
    std::memcpy(elements.data() + i * type.size, blob->data(), type.size);
  }
  return elements;
}

Result<Sharding> sharding_named(std::string_view text) {
  constexpr std::string_view kChunked = "cyclic:";
  if (text == "blocks") return Sharding::blocks();
  if (text == "cyclic") return Sharding::cyclic();
  if (text == "hashed") return Sharding::hashed();
  if (text.starts_with(kChunked)) {
    const std::string_view number = text.substr(kChunked.size());
    std::uint64_t chunk = 0;
    const auto [end, error] = std::from_chars(number.begin(), number.end(), chunk);
    if (error == std::errc() && end == number.end() && chunk > 0) return Sharding::cyclic(chunk);
  }
  return fail(ErrorCode::invalid_argument,
              "'{}' is no way to deal elements out: take blocks, cyclic, cyclic:CHUNK or hashed",
              text);
}

}  // namespace godwit::cli
