// A short description of a table, from which two tables find out where they differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/ids.hpp"

namespace godwit::fleet {

// Entries by key hash, in 256 buckets, each with the sum of its entries' hashes. Changing an entry
// costs O(log entries).
class Digest {
 public:
  static constexpr std::size_t kBuckets = 256;

  struct Slot {
    std::uint64_t fingerprint = 0;
    NodeId node{};                      // of a node's entry
    const std::string* name = nullptr;  // of a name's entry; the key in the table's map
  };

  void set(std::uint64_t key, const Slot& slot);
  void erase(std::uint64_t key);
  [[nodiscard]] const Slot* find(std::uint64_t key) const;

  [[nodiscard]] std::uint64_t root() const noexcept { return root_; }
  [[nodiscard]] const std::array<std::uint64_t, kBuckets>& buckets() const noexcept {
    return buckets_;
  }
  [[nodiscard]] static std::uint8_t bucket_of(std::uint64_t key) noexcept {
    return static_cast<std::uint8_t>(key >> 56U);
  }
  // Calls visit(key, slot) for the entries of one bucket.
  template <class Visit>
  void for_each(std::uint8_t bucket, Visit visit) const {
    const std::uint64_t first = std::uint64_t{bucket} << 56U;
    for (auto it = slots_.lower_bound(first); it != slots_.end(); ++it) {
      if (bucket_of(it->first) != bucket) break;
      visit(it->first, it->second);
    }
  }

 private:
  void add(std::uint64_t key, std::uint64_t fingerprint, bool remove) noexcept;

  std::map<std::uint64_t, Slot> slots_;
  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t root_ = 0;
};

}  // namespace godwit::fleet
