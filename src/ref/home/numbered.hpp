// Things known by numbers, such as pins: making one and finding it again cost no allocation once
// there has been as many before, and a number is not given out again for 10^12 others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace godwit::ref {

struct NumberedItem {
  std::uint64_t number = 0;  // 0: not in use
  std::uint64_t uses = 0;    // of this place, by one after another
  NumberedItem* next_free = nullptr;
};

// T derives from NumberedItem, and is found as the one before left it. A number is: how many used
// the place before, the place, and in the lowest kSuffixBits what the maker of the table says.
template <class T>
class Numbered {
 public:
  static constexpr unsigned kSuffixBits = 4;
  static constexpr unsigned kPlaceBits = 20;
  static constexpr std::size_t kMax = std::size_t{1} << kPlaceBits;

  explicit Numbered(std::uint64_t suffix = 0) : suffix_(suffix) {}
  Numbered(const Numbered&) = delete;
  Numbered& operator=(const Numbered&) = delete;

  // Null: there are kMax.
  [[nodiscard]] T* add() {
    auto* item = static_cast<T*>(free_);
    if (item != nullptr) {
      free_ = item->next_free;
    } else {
      if (items_.size() == kMax) return nullptr;
      item = &items_.emplace_back();
      item->uses = items_.size() - 1;  // its place, below the count
    }
    item->uses += kMax;
    item->number = item->uses << kSuffixBits | suffix_;
    ++size_;
    return item;
  }
  [[nodiscard]] T* find(std::uint64_t number) noexcept {
    const std::size_t place = (number >> kSuffixBits) & (kMax - 1);
    if (number == 0 || place >= items_.size()) return nullptr;
    T& item = items_[place];
    return item.number == number ? &item : nullptr;
  }
  void remove(T& item) noexcept {
    item.number = 0;
    item.next_free = free_;
    free_ = &item;
    --size_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  const std::uint64_t suffix_;
  std::deque<T> items_;
  NumberedItem* free_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace godwit::ref
