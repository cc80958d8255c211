// The part of msgpack that values inside a blob need: nil, bool, integers, floats, str, bin, array
// and map. Hand-written because mobile code carries it along: small, no allocation, no exception.
//
// Nothing here recurses: how deep a value nests is bounded by the type it is read as.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

namespace godwit {

// Where bytes go. Past the capacity it only counts, so that size() tells how much room a second
// pass needs.
class ByteSink {
 public:
  ByteSink(std::byte* data, std::size_t capacity) noexcept : data_(data), capacity_(capacity) {}

  void put(const void* bytes, std::size_t size) noexcept {
    if (size == 0) return;
    if (size_ <= capacity_ && size <= capacity_ - size_) std::memcpy(data_ + size_, bytes, size);
    size_ += size;
  }
  // A length that msgpack cannot express was met: what was written is worthless.
  void fail() noexcept { failed_ = true; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool fits() const noexcept { return size_ <= capacity_; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  std::byte* data_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  bool failed_ = false;
};

class Packer {
 public:
  explicit Packer(ByteSink& sink) noexcept : sink_(sink) {}

  void nil() noexcept { put_byte(0xc0); }
  void boolean(bool value) noexcept { put_byte(value ? 0xc3 : 0xc2); }
  void unsigned_integer(std::uint64_t value) noexcept {
    if (value < 0x80) return put_byte(static_cast<std::uint8_t>(value));
    put_sized(0xcc, value);
  }
  void signed_integer(std::int64_t value) noexcept {
    if (value >= 0) return unsigned_integer(static_cast<std::uint64_t>(value));
    if (value >= -32) return put_byte(static_cast<std::uint8_t>(value));
    if (value >= std::numeric_limits<std::int8_t>::min()) {
      put_big_endian<std::uint8_t>(0xd0, static_cast<std::uint8_t>(value));
    } else if (value >= std::numeric_limits<std::int16_t>::min()) {
      put_big_endian<std::uint16_t>(0xd1, static_cast<std::uint16_t>(value));
    } else if (value >= std::numeric_limits<std::int32_t>::min()) {
      put_big_endian<std::uint32_t>(0xd2, static_cast<std::uint32_t>(value));
    } else {
      put_big_endian<std::uint64_t>(0xd3, static_cast<std::uint64_t>(value));
    }
  }
  void f32(float value) noexcept {
    put_big_endian<std::uint32_t>(0xca, std::bit_cast<std::uint32_t>(value));
  }
  void f64(double value) noexcept {
    put_big_endian<std::uint64_t>(0xcb, std::bit_cast<std::uint64_t>(value));
  }
  void str(std::string_view text) noexcept {
    if (text.size() < 32) {
      put_byte(static_cast<std::uint8_t>(0xa0 | text.size()));
    } else if (check_length(text.size())) {
      put_sized(0xd9, text.size());
    }
    sink_.put(text.data(), text.size());
  }
  void bin(std::span<const std::byte> bytes) noexcept {
    if (check_length(bytes.size())) put_sized(0xc4, bytes.size());
    sink_.put(bytes.data(), bytes.size());
  }
  // `count` values follow; for a map, `count` keys and values in turn.
  void array(std::size_t count) noexcept { put_count(0x90, 0xdc, count); }
  void map(std::size_t count) noexcept { put_count(0x80, 0xde, count); }

 private:
  void put_byte(std::uint8_t byte) noexcept { sink_.put(&byte, 1); }

  template <class T>
  void put_big_endian(std::uint8_t tag, T value) noexcept {
    std::uint8_t bytes[1 + sizeof(T)] = {tag};
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes[1 + i] = static_cast<std::uint8_t>(value >> (8 * (sizeof(T) - 1 - i)));
    }
    sink_.put(bytes, sizeof bytes);
  }
  // The four tags from `tag` on announce 1, 2, 4 and 8 bytes.
  void put_sized(std::uint8_t tag, std::uint64_t value) noexcept {
    if (value <= 0xff) {
      put_big_endian<std::uint8_t>(tag, static_cast<std::uint8_t>(value));
    } else if (value <= 0xffff) {
      put_big_endian<std::uint16_t>(static_cast<std::uint8_t>(tag + 1),
                                    static_cast<std::uint16_t>(value));
    } else if (value <= 0xffffffff) {
      put_big_endian<std::uint32_t>(static_cast<std::uint8_t>(tag + 2),
                                    static_cast<std::uint32_t>(value));
    } else {
      put_big_endian<std::uint64_t>(static_cast<std::uint8_t>(tag + 3), value);
    }
  }
  void put_count(std::uint8_t small_tag, std::uint8_t tag, std::size_t count) noexcept {
    if (count < 16) {
      put_byte(static_cast<std::uint8_t>(small_tag | count));
    } else if (count <= 0xffff) {
      put_big_endian<std::uint16_t>(tag, static_cast<std::uint16_t>(count));
    } else if (check_length(count)) {
      put_big_endian<std::uint32_t>(static_cast<std::uint8_t>(tag + 1),
                                    static_cast<std::uint32_t>(count));
    }
  }
  bool check_length(std::size_t length) noexcept {
    if (length <= 0xffffffff) return true;
    sink_.fail();
    return false;
  }

  ByteSink& sink_;
};

// Reads values one after another. Every verb returns false, and leaves the rest unusable, if the
// next value is of another kind, out of range or cut off. Strings point into the input.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> input) noexcept : input_(input) {}

  [[nodiscard]] std::size_t remaining() const noexcept { return input_.size(); }

  // Takes the next value if it is nil, and says whether it did.
  [[nodiscard]] bool accept_nil() noexcept {
    if (peek() != 0xc0 || input_.empty()) return false;
    input_ = input_.subspan(1);
    return true;
  }
  [[nodiscard]] bool boolean(bool& value) noexcept {
    const std::uint8_t tag = take_tag();
    value = tag == 0xc3;
    return tag == 0xc3 || tag == 0xc2;
  }
  template <class T>
    requires std::is_integral_v<T>
  [[nodiscard]] bool integer(T& value) noexcept {
    std::uint64_t bits = 0;
    bool negative = false;
    if (!any_integer(bits, negative)) return false;
    value = static_cast<T>(bits);
    if (negative) {
      if constexpr (std::is_unsigned_v<T>) {
        return false;
      } else {
        return static_cast<std::int64_t>(bits) >= std::numeric_limits<T>::min();
      }
    }
    return bits <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  }
  [[nodiscard]] bool floating(double& value) noexcept {
    const std::uint8_t tag = take_tag();
    std::uint64_t bits = 0;
    if (tag == 0xca && take_big_endian(4, bits)) {
      value = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      return true;
    }
    if (tag != 0xcb || !take_big_endian(8, bits)) return false;
    value = std::bit_cast<double>(bits);
    return true;
  }
  [[nodiscard]] bool str(std::string_view& text) noexcept {
    const std::uint8_t tag = take_tag();
    std::uint64_t size = tag & 0x1fU;
    if ((tag & 0xe0U) != 0xa0 && !take_size(tag, 0xd9, 3, size)) return false;
    std::span<const std::byte> bytes;
    if (!take(size, bytes)) return false;
    text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    return true;
  }
  [[nodiscard]] bool bin(std::span<const std::byte>& bytes) noexcept {
    std::uint64_t size = 0;
    return take_size(take_tag(), 0xc4, 3, size) && take(size, bytes);
  }
  // The count is at most what the rest of the input can hold, one byte per value: a container may
  // be sized by it.
  [[nodiscard]] bool array(std::size_t& count) noexcept { return take_count(0x90, 0xdc, 1, count); }
  [[nodiscard]] bool map(std::size_t& count) noexcept { return take_count(0x80, 0xde, 2, count); }

 private:
  static constexpr std::uint8_t kNever = 0xc1;  // the one tag msgpack does not use

  [[nodiscard]] std::uint8_t peek() const noexcept {
    return input_.empty() ? kNever : static_cast<std::uint8_t>(input_.front());
  }
  std::uint8_t take_tag() noexcept {
    const std::uint8_t tag = peek();
    if (!input_.empty()) input_ = input_.subspan(1);
    return tag;
  }
  bool take(std::uint64_t size, std::span<const std::byte>& bytes) noexcept {
    if (size > input_.size()) return false;
    bytes = input_.first(static_cast<std::size_t>(size));
    input_ = input_.subspan(static_cast<std::size_t>(size));
    return true;
  }
  bool take_big_endian(std::size_t size, std::uint64_t& value) noexcept {
    std::span<const std::byte> bytes;
    if (!take(size, bytes)) return false;
    value = 0;
    for (const std::byte byte : bytes) value = value << 8 | static_cast<std::uint64_t>(byte);
    return true;
  }
  // `tags` tags from `first` on announce 1, 2, 4, 8 bytes.
  bool take_size(std::uint8_t tag, std::uint8_t first, unsigned tags,
                 std::uint64_t& size) noexcept {
    if (tag < first || tag >= first + tags) return false;
    return take_big_endian(std::size_t{1} << (tag - first), size);
  }
  bool take_count(std::uint8_t small_tag, std::uint8_t tag16, std::size_t values_each,
                  std::size_t& count) noexcept {
    const std::uint8_t tag = take_tag();
    std::uint64_t found = tag & 0x0fU;
    if ((tag & 0xf0U) != small_tag) {
      if (tag != tag16 && tag != tag16 + 1) return false;
      if (!take_big_endian(tag == tag16 ? 2 : 4, found)) return false;
    }
    count = static_cast<std::size_t>(found);
    return found <= input_.size() / values_each;
  }
  // The value's two's complement bits.
  bool any_integer(std::uint64_t& bits, bool& negative) noexcept {
    const std::uint8_t tag = take_tag();
    if (tag < 0x80) {
      bits = tag;
      return true;
    }
    if (tag >= 0xe0) {
      bits = tag | ~std::uint64_t{0xff};
      negative = true;
      return true;
    }
    if (take_size(tag, 0xcc, 4, bits)) return true;
    if (!take_size(tag, 0xd0, 4, bits)) return false;
    const unsigned unused = 64 - (8U << (tag - 0xd0U));
    const auto value = static_cast<std::int64_t>(bits << unused) >> unused;
    bits = static_cast<std::uint64_t>(value);
    negative = value < 0;
    return true;
  }

  std::span<const std::byte> input_;
};

}  // namespace godwit
