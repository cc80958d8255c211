#include "fleet/digest.hpp"

#include <utility>

#include "base/random.hpp"

namespace godwit::fleet {

void Digest::set(std::uint64_t key, const Slot& slot) {
  const auto [it, is_new] = slots_.try_emplace(key, slot);
  if (!is_new) add(key, std::exchange(it->second, slot).fingerprint, true);
  add(key, slot.fingerprint, false);
}

void Digest::erase(std::uint64_t key) {
  const auto it = slots_.find(key);
  if (it == slots_.end()) return;
  add(key, it->second.fingerprint, true);
  slots_.erase(it);
}

const Digest::Slot* Digest::find(std::uint64_t key) const {
  const auto it = slots_.find(key);
  return it == slots_.end() ? nullptr : &it->second;
}

void Digest::add(std::uint64_t key, std::uint64_t fingerprint, bool remove) noexcept {
  std::uint64_t term = mix64(key ^ mix64(fingerprint));
  if (remove) term = 0U - term;
  buckets_[bucket_of(key)] += term;
  root_ += term;
}

}  // namespace godwit::fleet
