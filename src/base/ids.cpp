#include "base/ids.hpp"

#include <sodium.h>

#include <charconv>

namespace godwit {

std::string to_hex(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = kDigits[value & 15];
  return text;
}

std::optional<std::uint64_t> from_hex(std::string_view digits) {
  std::uint64_t value = 0;
  if (digits.empty() || digits.size() > 16) return std::nullopt;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

NodeId random_node_id() {
  NodeId id;
  while (!id) randombytes_buf(&id.value, sizeof id.value);
  return id;
}

ContentId ContentId::of(Bytes content) {
  ContentId id;
  crypto_generichash(reinterpret_cast<unsigned char*>(id.digest.data()), kSize,
                     reinterpret_cast<const unsigned char*>(content.data()), content.size(),
                     nullptr, 0);
  return id;
}

std::string ContentId::hex() const {
  std::string text(kSize * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(digest.data()),
                 kSize);
  text.pop_back();
  return text;
}

std::string ContentId::short_hex() const {
  return hex().substr(0, 12);
}

std::optional<ContentId> ContentId::parse(std::string_view hex) {
  ContentId id;
  std::size_t written = 0;
  if (hex.size() != kSize * 2) return std::nullopt;
  const int rc = sodium_hex2bin(reinterpret_cast<unsigned char*>(id.digest.data()), kSize,
                                hex.data(), hex.size(), nullptr, &written, nullptr);
  if (rc != 0 || written != kSize) return std::nullopt;
  return id;
}

}  // namespace godwit
