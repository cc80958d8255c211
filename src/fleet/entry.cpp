#include "fleet/entry.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/bytes.hpp"
#include "base/fail.hpp"
#include "base/random.hpp"
#include "fleet/limits.hpp"

namespace godwit::fleet {

namespace {

// Each field goes in with its length, so that moving a byte from one to the next changes the hash.
class Hasher {
 public:
  explicit Hasher(std::uint64_t seed) : hash_(mix64(seed)) {}
  Hasher& add(std::uint64_t word) noexcept {
    hash_ = mix64(hash_ ^ word);
    return *this;
  }
  Hasher& add(Bytes bytes) noexcept {
    add(bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
      add(word);
    }
    return *this;
  }
  Hasher& add(const Version& version) noexcept {
    return add(version.counter).add(version.writer.value).add(version.epoch.value);
  }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  std::uint64_t hash_;
};

constexpr std::uint64_t kNodeSeed = 1;
constexpr std::uint64_t kNameSeed = 2;

Status validate(const Version& version) {
  if (version.counter == 0 || version.counter > kMaxCounter || !version.writer) {
    return fail(ErrorCode::bad_format, "a table entry has an impossible version");
  }
  return {};
}

}  // namespace

std::uint64_t key_of(NodeId node) noexcept {
  return Hasher(kNodeSeed).add(node.value).hash();
}

std::uint64_t key_of(std::string_view name) noexcept {
  return Hasher(kNameSeed).add(bytes_of(name)).hash();
}

std::uint64_t fingerprint(const NodeEntry& entry) {
  const NodeRecord& record = entry.record;
  Hasher hasher(kNodeSeed);
  hasher.add(record.id.value).add(record.epoch.value).add(entry.version);
  hasher.add(bytes_of(record.name)).add(record.addresses.size());
  for (const std::string& address : record.addresses) hasher.add(bytes_of(address));
  hasher.add(bytes_of(record.target.arch)).add(bytes_of(record.target.cpu));
  hasher.add(bytes_of(record.target.os));
  hasher.add(record.target.llvm_major * 2U + (record.target.has_jit ? 1U : 0U));
  hasher.add(record.capacities.cores).add(record.capacities.memory_bytes);
  hasher.add(record.capacities.gpus);
  hasher.add(static_cast<std::uint64_t>(record.state)).add(static_cast<std::uint64_t>(record.role));
  return hasher.hash();
}

std::uint64_t fingerprint(const NameEntry& entry) {
  Hasher hasher(kNameSeed);
  hasher.add(bytes_of(entry.key)).add(entry.version).add(entry.erased ? 1U : 0U);
  return hasher.add(Bytes(entry.value)).hash();
}

bool replaces(const NodeEntry& a, const NodeEntry& b) {
  const auto order_a = std::tie(a.record.epoch, a.version);
  const auto order_b = std::tie(b.record.epoch, b.version);
  return order_a != order_b ? order_a > order_b : fingerprint(a) > fingerprint(b);
}

bool replaces(const NameEntry& a, const NameEntry& b) {
  return a.version != b.version ? a.version > b.version : fingerprint(a) > fingerprint(b);
}

Status validate(const NodeEntry& entry) {
  GODWIT_CHECK(validate(entry.version));
  return validate(entry.record);
}

Status validate(const NameEntry& entry) {
  GODWIT_CHECK(validate(entry.version));
  const bool printable = std::none_of(entry.key.begin(), entry.key.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7F';
  });
  if (entry.key.empty() || entry.key.size() > kMaxKeyBytes || !printable) {
    return fail(ErrorCode::invalid_argument,
                "a shared name must be 1 to {} bytes without control characters; this has {}",
                kMaxKeyBytes, entry.key.size());
  }
  if (entry.value.size() > kMaxValueBytes || (entry.erased && !entry.value.empty())) {
    return fail(ErrorCode::too_large,
                "shared name '{}': its value has {} bytes, more than {}; put large data into an "
                "object and share its reference",
                entry.key, entry.value.size(), kMaxValueBytes);
  }
  return {};
}

std::size_t encoded_size_bytes(const NodeEntry& entry) noexcept {
  constexpr std::size_t kFixed = 160;  // scalars, vtables, offsets, padding
  constexpr std::size_t kPerString = 12;
  const NodeRecord& record = entry.record;
  std::size_t size = kFixed + record.name.size() + record.target.arch.size() +
                     record.target.cpu.size() + record.target.os.size();
  for (const std::string& address : record.addresses) size += kPerString + address.size();
  return size;
}

std::size_t encoded_size_bytes(const NameEntry& entry) noexcept {
  constexpr std::size_t kFixed = 80;
  return kFixed + entry.key.size() + entry.value.size();
}

}  // namespace godwit::fleet
