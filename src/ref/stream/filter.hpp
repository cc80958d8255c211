// Which items of a topic a group wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "godwit/error.hpp"
#include "ref/stream/batch.hpp"

namespace godwit::ref::stream {

// Runs at the home, with the topic's lock held: cheap, and the same answer for an item every time.
// accepts() is the only place that knows what a filter looks at. All conditions must hold.
struct Filter {
  static constexpr std::size_t kMaxBytes = kMaxMetadataBytes;

  std::string prefix{};                 // of the metadata, such as the beginning of a key
  std::optional<std::string> equals{};  // the whole metadata
  std::uint32_t one_in = 1;             // every n-th offset: all groups sample the same items

  [[nodiscard]] bool accepts_all() const noexcept {
    return prefix.empty() && !equals && one_in == 1;
  }
  [[nodiscard]] bool accepts(std::uint64_t offset, const Item& item) const noexcept;
  // Errors: invalid_argument, too_large.
  [[nodiscard]] Status check() const;

  friend bool operator==(const Filter&, const Filter&) = default;
};

}  // namespace godwit::ref::stream
