#include "ref/home/handle_key.hpp"

#include <sodium.h>

#include <bit>
#include <cstring>

#include "base/fail.hpp"
#include "base/ids.hpp"

namespace godwit::ref {
namespace {

static_assert(HandleKey::kBytes == crypto_shorthash_KEYBYTES);
static_assert(sizeof(Handle::mac) == crypto_shorthash_BYTES);

std::uint64_t hash_of(const void* bytes, std::size_t size,
                      const std::array<std::uint8_t, HandleKey::kBytes>& secret) noexcept {
  std::uint64_t hash = 0;
  crypto_shorthash(reinterpret_cast<unsigned char*>(&hash),
                   static_cast<const unsigned char*>(bytes), size, secret.data());
  return hash;
}

}  // namespace

HandleKey HandleKey::random() {
  std::array<std::uint8_t, kBytes> secret{};
  randombytes_buf(secret.data(), secret.size());
  return HandleKey(secret);
}

// The id is told to everybody, and tells nothing about the secret.
HandleKey::HandleKey(const std::array<std::uint8_t, kBytes>& secret) noexcept
    : secret_(secret), id_(static_cast<std::uint32_t>(hash_of("godwit key id", 13, secret))) {}

void HandleKey::sign(Handle& handle) const noexcept {
  handle.key_id = id_;
  handle.mac = hash_of(&handle, offsetof(Handle, mac), secret_);
}

Status HandleKey::verify(const Handle& handle) const {
  if (handle.format != Handle::kFormat) {
    return fail(ErrorCode::bad_format, "the handle is of format {}, and this node knows {} only",
                handle.format, Handle::kFormat);
  }
  if (handle.key_id != id_) {
    return fail(ErrorCode::permission,
                "the handle of object {} was not made by this life of node {}: it is older than "
                "the node's last start, or forged",
                handle.object.short_hex(), to_hex(handle.home));
  }
  const std::uint64_t mac = hash_of(&handle, offsetof(Handle, mac), secret_);
  if (mac != handle.mac) {  // one comparison of one word tells nothing by its time
    return fail(ErrorCode::permission, "the handle of object {} was changed or forged",
                handle.object.short_hex());
  }
  return {};
}

std::uint64_t proof_of(const Handle& handle) noexcept {
  const std::array key{handle.mac, handle.mac};
  return hash_of(&handle, offsetof(Handle, mac),
                 std::bit_cast<std::array<std::uint8_t, HandleKey::kBytes>>(key));
}

}  // namespace godwit::ref
