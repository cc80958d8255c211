#include "trust/seal.hpp"

#include <openssl/evp.h>
#include <sodium.h>

#include <cstring>
#include <utility>

#include "base/fail.hpp"

namespace godwit::trust {
namespace {

constexpr std::string_view kClientToServer = "godwit seal 1: client to server";
constexpr std::string_view kServerToClient = "godwit seal 1: server to client";
constexpr int kNonceSize = 12;

using Nonce12 = std::array<unsigned char, kNonceSize>;

Nonce12 nonce_of(std::uint64_t number) {
  Nonce12 nonce{};
  std::memcpy(nonce.data() + kNonceSize - sizeof number, &number, sizeof number);
  return nonce;
}

const unsigned char* raw(Bytes bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* raw(MutableBytes bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

void copy_key(SealKey& key, const Tag& tag) {
  static_assert(sizeof key.bytes == sizeof tag);
  std::memcpy(key.bytes.data(), tag.data(), tag.size());
}

}  // namespace

SealKey::~SealKey() {
  sodium_memzero(bytes.data(), bytes.size());
}

KeyExchange::KeyExchange() {
  randombytes_buf(secret_.data(), secret_.size());
  crypto_scalarmult_base(reinterpret_cast<unsigned char*>(mine_.data()), secret_.data());
}

KeyExchange::~KeyExchange() {
  sodium_memzero(secret_.data(), secret_.size());
}

Result<LinkKeys> KeyExchange::derive(const FleetKey& key, const Public& theirs,
                                     Bytes transcript) const {
  Tag shared{};
  auto* const out = reinterpret_cast<unsigned char*>(shared.data());
  if (crypto_scalarmult(out, secret_.data(), raw(theirs)) != 0) {
    return fail(ErrorCode::handshake_failed, "the peer's half of the key exchange is no key");
  }
  LinkKeys keys;
  copy_key(keys.client_to_server, key.tag(kClientToServer, {shared, transcript}));
  copy_key(keys.server_to_client, key.tag(kServerToClient, {shared, transcript}));
  sodium_memzero(shared.data(), shared.size());
  return keys;
}

// OpenSSL's AES-GCM uses the wide vector units: 4.3 GB/s where libsodium's does 1.3, and what is
// sealed here passes through a core at both ends.
struct Seal::State {
  EVP_CIPHER_CTX* context = nullptr;
  std::uint64_t number = 0;
  bool broken = false;
  SealKey key;
  bool keyed_to_seal = false;
  bool keyed_to_open = false;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_CIPHER_CTX_free(context); }

  // A context works one way at a time; the key schedule is made once.
  bool begin(bool sealing, Bytes open_text) {
    bool& keyed = sealing ? keyed_to_seal : keyed_to_open;
    const Nonce12 nonce = nonce_of(number++);
    const unsigned char* const key_bytes = keyed ? nullptr : key.bytes.data();
    keyed = true;
    int size = 0;
    return EVP_CipherInit_ex(context, nullptr, nullptr, key_bytes, nonce.data(), sealing ? 1 : 0) ==
               1 &&
           EVP_CipherUpdate(context, nullptr, &size, raw(open_text),
                            static_cast<int>(open_text.size())) == 1;
  }
  Status fail_for_good(ErrorCode code, const char* what) {
    broken = true;
    return fail(code, "{}", what);
  }
};

Seal::Seal(std::unique_ptr<State> state) : state_(std::move(state)) {}
Seal::Seal(Seal&&) noexcept = default;
Seal& Seal::operator=(Seal&&) noexcept = default;
Seal::~Seal() = default;

bool Seal::has_quick_aes() noexcept {
  return crypto_aead_aes256gcm_is_available() == 1;
}

Result<Seal> Seal::create(Cipher cipher, const SealKey& key) {
  auto state = std::make_unique<State>();
  state->key = key;
  state->context = EVP_CIPHER_CTX_new();
  const EVP_CIPHER* const kind = cipher == Cipher::aes256_gcm          ? EVP_aes_256_gcm()
                                 : cipher == Cipher::chacha20_poly1305 ? EVP_chacha20_poly1305()
                                                                       : nullptr;
  if (state->context == nullptr || kind == nullptr ||
      EVP_CipherInit_ex(state->context, kind, nullptr, nullptr, nullptr, 1) != 1) {
    return fail(ErrorCode::unsupported, "cipher {} is not to be had from this libcrypto",
                static_cast<int>(cipher));
  }
  return Seal(std::move(state));
}

Status Seal::seal(Bytes open_text, std::span<const Bytes> parts, MutableBytes room) {
  State& state = *state_;
  unsigned char* out = raw(room);
  bool good = !state.broken && state.begin(true, open_text);
  std::size_t written = 0;
  for (const Bytes part : parts) {
    int size = 0;
    if (part.empty() || !good) continue;
    good = written + part.size() + kTagSize <= room.size() &&
           EVP_CipherUpdate(state.context, out + written, &size, raw(part),
                            static_cast<int>(part.size())) == 1;
    written += part.size();
  }
  int rest = 0;
  good = good && written + kTagSize == room.size() &&
         EVP_CipherFinal_ex(state.context, out + written, &rest) == 1 &&
         EVP_CIPHER_CTX_ctrl(state.context, EVP_CTRL_AEAD_GET_TAG, kTagSize, out + written) == 1;
  if (good) return {};
  return state.fail_for_good(ErrorCode::internal, "a record could not be sealed");
}

Status Seal::open(Bytes open_text, Bytes record, MutableBytes room) {
  State& state = *state_;
  bool good =
      !state.broken && record.size() == room.size() + kTagSize && state.begin(false, open_text);
  std::array<unsigned char, kTagSize> tag{};
  int size = 0;
  if (good) std::memcpy(tag.data(), record.data() + room.size(), kTagSize);
  if (good && !room.empty()) {
    good = EVP_CipherUpdate(state.context, raw(room), &size, raw(record),
                            static_cast<int>(room.size())) == 1;
  }
  good =
      good && EVP_CIPHER_CTX_ctrl(state.context, EVP_CTRL_AEAD_SET_TAG, kTagSize, tag.data()) == 1;
  std::array<unsigned char, kTagSize> rest{};
  good = good && EVP_CipherFinal_ex(state.context, rest.data(), &size) == 1;
  if (good) return {};
  return state.fail_for_good(ErrorCode::protocol_violation,
                             "a record does not open: it was altered, repeated or left out");
}

}  // namespace godwit::trust
