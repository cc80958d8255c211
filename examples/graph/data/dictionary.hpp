// Terms and their numbers. All spellings lie in one text, one after the other; ids count from 0 in
// the order of first appearance, so that what was loaded together has ids close together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/edge.hpp"
#include "godwit/error.hpp"

namespace godwit::graph {

inline constexpr std::uint64_t kMaxTerms = kNoTerm;
inline constexpr std::uint64_t kMaxTextBytes = std::uint64_t{1} << 38U;

// A value; reading from several threads is fine.
class Dictionary {
 public:
  Dictionary() = default;
  // From the two arrays that ends() and text() gave; fails if they are not those of a dictionary.
  static Result<Dictionary> from(std::vector<std::uint64_t> ends, std::string text);

  // The term's id, a new one if the term is new. Fails at kMaxTerms and kMaxTextBytes.
  Result<TermId> intern(std::string_view spelling);
  [[nodiscard]] std::optional<TermId> find(std::string_view spelling) const;
  // Valid until the next intern(). The id must be below size().
  [[nodiscard]] std::string_view spelling(TermId id) const noexcept;

  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(ends_.size());
  }
  // Where each term's spelling ends in the text.
  [[nodiscard]] std::span<const std::uint64_t> ends() const noexcept { return ends_; }
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  // Allocated: text, ends and the table that finds ids.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

 private:
  // The hash's low half beside the id: most misses end here, and growing rehashes no text.
  struct Slot {
    std::uint32_t hash = 0;
    TermId id = kNoTerm;
  };
  [[nodiscard]] std::size_t slot_of(std::string_view spelling, std::uint32_t hash) const noexcept;
  void grow();

  std::string text_;
  std::vector<std::uint64_t> ends_;
  std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace godwit::graph
