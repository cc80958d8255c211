#include "data/dictionary.hpp"

#include <functional>
#include <utility>

#include "base/fail.hpp"

namespace godwit::graph {
namespace {

constexpr std::size_t kFirstSlots = 1024;

std::uint32_t hash_of(std::string_view spelling) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(spelling));
}

}  // namespace

Result<Dictionary> Dictionary::from(std::vector<std::uint64_t> ends, std::string text) {
  if (ends.size() > kMaxTerms) {
    return fail(ErrorCode::too_large, "a dictionary of {} terms; the limit is {}", ends.size(),
                kMaxTerms);
  }
  Dictionary dictionary;
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ends) {
    if (end <= begin || end > text.size()) {
      return fail(ErrorCode::bad_format, "the dictionary's term {} ends at byte {} of {}",
                  dictionary.size(), end, text.size());
    }
    const TermId expected = dictionary.size();
    GODWIT_TRY(const TermId id,
               dictionary.intern(std::string_view(text).substr(begin, end - begin)));
    if (id != expected) {
      return fail(ErrorCode::bad_format, "the dictionary's terms {} and {} are the same", id,
                  expected);
    }
    begin = end;
  }
  if (begin != text.size()) {
    return fail(ErrorCode::bad_format, "the dictionary's text has {} bytes, its terms {}",
                text.size(), begin);
  }
  return dictionary;
}

Result<TermId> Dictionary::intern(std::string_view spelling) {
  if (ends_.size() * 2 >= slots_.size()) grow();
  const std::uint32_t hash = hash_of(spelling);
  Slot& slot = slots_[slot_of(spelling, hash)];
  if (slot.id != kNoTerm) return slot.id;
  if (ends_.size() >= kMaxTerms || text_.size() + spelling.size() > kMaxTextBytes) {
    return fail(ErrorCode::too_large,
                "a graph has at most {} terms of {} bytes together; split the data", kMaxTerms,
                kMaxTextBytes);
  }
  slot = {hash, size()};
  text_ += spelling;
  ends_.push_back(text_.size());
  return slot.id;
}

std::optional<TermId> Dictionary::find(std::string_view spelling) const {
  if (slots_.empty()) return std::nullopt;
  const TermId id = slots_[slot_of(spelling, hash_of(spelling))].id;
  return id == kNoTerm ? std::nullopt : std::optional(id);
}

std::string_view Dictionary::spelling(TermId id) const noexcept {
  const std::uint64_t begin = id == 0 ? 0 : ends_[id - 1];
  return std::string_view(text_).substr(begin, ends_[id] - begin);
}

std::uint64_t Dictionary::memory_bytes() const noexcept {
  return text_.capacity() + ends_.capacity() * sizeof(ends_[0]) +
         slots_.capacity() * sizeof(slots_[0]);
}

// The term's slot, or the free one where it belongs; there always is a free one.
std::size_t Dictionary::slot_of(std::string_view spelling, std::uint32_t hash) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].id != kNoTerm &&
         (slots_[at].hash != hash || this->spelling(slots_[at].id) != spelling)) {
    at = (at + 1) & mask;
  }
  return at;
}

void Dictionary::grow() {
  std::vector<Slot> slots(slots_.empty() ? kFirstSlots : slots_.size() * 2);
  const std::size_t mask = slots.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.id == kNoTerm) continue;
    std::size_t at = slot.hash & mask;
    while (slots[at].id != kNoTerm) at = (at + 1) & mask;
    slots[at] = slot;
  }
  slots_ = std::move(slots);
}

}  // namespace godwit::graph
