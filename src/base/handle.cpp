#include "godwit/handle.hpp"

#include <sodium.h>

#include <cstring>
#include <span>

#include "base/fail.hpp"

namespace godwit {
namespace {

constexpr std::string_view kScheme = "gdw://";
constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
constexpr std::size_t kTextBytes = (sizeof(Handle) * 8 + 5) / 6;

std::string hex_of(std::span<const std::uint8_t> bytes) {
  std::string text(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

}  // namespace

std::string to_string(Rights rights) {
  std::string text;
  const auto add = [&](Rights right, std::string_view name) {
    if (!includes(rights, right)) return;
    if (!text.empty()) text += '+';
    text += name;
  };
  add(Rights::read, "read");
  add(Rights::write, "write");
  add(Rights::evict, "evict");
  add(Rights::delegate, "delegate");
  return text.empty() ? "none" : text;
}

std::string ObjectId::hex() const {
  return hex_of(bytes);
}

std::string ObjectId::short_hex() const {
  return hex_of(std::span(bytes).first<6>());
}

std::string Handle::to_text() const {
  std::string text(kScheme.size() + kTextBytes + 1, '\0');
  std::memcpy(text.data(), kScheme.data(), kScheme.size());
  sodium_bin2base64(text.data() + kScheme.size(), kTextBytes + 1,
                    reinterpret_cast<const unsigned char*>(this), sizeof *this, kVariant);
  text.pop_back();
  return text;
}

Result<Handle> Handle::parse(std::string_view text) {
  if (!text.starts_with(kScheme)) {
    return fail(ErrorCode::bad_format, "a handle begins with {}, not '{}'", kScheme,
                text.substr(0, kScheme.size()));
  }
  text.remove_prefix(kScheme.size());
  if (text.size() != kTextBytes) {
    return fail(ErrorCode::bad_format,
                "a handle has {} characters after {}, this one {}: it was "
                "cut short, or something was added",
                kTextBytes, kScheme, text.size());
  }
  Handle handle;
  std::size_t size = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(&handle), sizeof handle, text.data(),
                        text.size(), nullptr, &size, nullptr, kVariant) != 0 ||
      size != sizeof handle) {
    return fail(ErrorCode::bad_format,
                "a handle has letters, digits, '-' and '_' only after {}: this one was damaged",
                kScheme);
  }
  if (handle.format != kFormat) {
    return fail(ErrorCode::bad_format, "the handle is of format {}, and this program knows {} only",
                handle.format, kFormat);
  }
  return handle;
}

}  // namespace godwit
