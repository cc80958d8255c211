// Arguments and results as blobs (docs/types.md, "Blobs"): encoded without copying what is large,
// decoded without copying what may stay where it is.
//
//   std::byte scratch[512];
//   godwit::EncoderFor<std::span<const double>, std::uint32_t> blob(scratch, samples, 7);
//   send(blob.parts());                          // samples itself is one of the parts
//
//   std::tuple<std::span<const double>, std::uint32_t> args;
//   godwit::DecodeError error;
//   if (!godwit::decode(bytes, args, error)) ... error.what, error.argument
//
// Nothing here allocates unless the scratch is too small or a decoded type owns memory. Decoding
// trusts nothing: every offset, count and alignment is checked, and memory is taken only for
// elements that are there. Blobs must lie 16-byte aligned in memory (8 suffices if no type in the
// signature is aligned to more).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "godwit/mobile/value.hpp"
#include "godwit/types.hpp"

namespace godwit {

// Contiguous data longer than this is borrowed by an Encoder, not copied.
inline constexpr std::size_t kBorrowBytes = 4096;
// Every segment of a blob's tail starts at a multiple of this.
inline constexpr std::size_t kBlobAlign = 16;

struct Descriptor {
  std::uint64_t offset = 0;  // from the blob's start; zero if count is
  std::uint64_t count = 0;   // elements of a raw segment, bytes of a packed one
};
static_assert(sizeof(Descriptor) == 16);

// Where each parameter stands in the head.
template <class... Params>
struct BlobHead {
  static constexpr std::size_t kCount = sizeof...(Params);

 private:
  static constexpr auto kLayout = [] {
    std::array<std::size_t, kCount + 1> layout{};  // the offsets, then the size
    std::size_t end = 0;
    std::size_t index = 0;
    [[maybe_unused]] const auto place = [&](std::size_t size, std::size_t align) {
      layout[index] = (end + align - 1) / align * align;
      end = layout[index++] + size;
    };
    (place(kPlain<Params> ? sizeof(Params) : sizeof(Descriptor),
           kPlain<Params> ? alignof(Params) : alignof(Descriptor)),
     ...);
    layout[kCount] = end;
    return layout;
  }();

 public:
  static constexpr std::size_t offset(std::size_t parameter) noexcept { return kLayout[parameter]; }
  static constexpr std::size_t kSize = kLayout[kCount];
};

// Writes a blob into memory; past the capacity it only counts, so that a second pass can be given
// size() bytes. With room for parts it leaves out large segments and lists them instead.
class BlobWriter {
 public:
  using Part = std::span<const std::byte>;

  // Contiguous data longer than `borrow_bytes` is listed, not copied.
  BlobWriter(std::span<std::byte> memory, std::span<Part> parts,
             std::size_t borrow_bytes = kBorrowBytes) noexcept
      : memory_(memory), parts_(parts), borrow_bytes_(borrow_bytes) {}

  void begin(std::size_t head_size) noexcept {
    if (head_size > 0 && head_size <= memory_.size()) std::memset(memory_.data(), 0, head_size);
    copied_ = head_size;
    size_ = head_size;
  }
  void put_head(std::size_t offset, const void* bytes, std::size_t size) noexcept {
    if (offset + size <= memory_.size()) std::memcpy(memory_.data() + offset, bytes, size);
  }
  Descriptor raw(const void* elements, std::size_t count, std::size_t element_size) noexcept {
    if (count == 0) return {};
    pad();
    const Descriptor where{.offset = size_, .count = count};
    const std::size_t size = count * element_size;
    if (!parts_.empty() && size > borrow_bytes_) {
      close_part();
      parts_[part_count_++] = {static_cast<const std::byte*>(elements), size};
      size_ += size;
    } else {
      copy(elements, size);
    }
    return where;
  }
  template <class T>
  Descriptor packed(const T& value) {
    pad();
    ByteSink sink = fits() ? ByteSink(memory_.data() + copied_, memory_.size() - copied_)
                           : ByteSink(nullptr, 0);
    Packer packer(sink);
    Codec<T>::pack(packer, value);
    failed_ = failed_ || sink.failed();
    const Descriptor where{.offset = size_, .count = sink.size()};
    copied_ += sink.size();
    size_ += sink.size();
    return where;
  }
  void finish() noexcept { close_part(); }

  [[nodiscard]] bool fits() const noexcept { return copied_ <= memory_.size(); }
  // A container has more items than msgpack can count.
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] std::size_t copied() const noexcept { return copied_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t part_count() const noexcept { return part_count_; }

 private:
  void copy(const void* bytes, std::size_t size) noexcept {
    if (fits() && size <= memory_.size() - copied_) {
      std::memcpy(memory_.data() + copied_, bytes, size);
    }
    copied_ += size;
    size_ += size;
  }
  void pad() noexcept {
    constexpr std::byte kZeros[kBlobAlign] = {};
    const std::size_t padding = (kBlobAlign - size_ % kBlobAlign) % kBlobAlign;
    if (padding > 0) copy(kZeros, padding);
  }
  // What was copied since the last part becomes one.
  void close_part() noexcept {
    if (parts_.empty() || copied_ == part_start_) return;
    if (fits()) parts_[part_count_++] = memory_.subspan(part_start_, copied_ - part_start_);
    part_start_ = copied_;
  }

  std::span<std::byte> memory_;
  std::span<Part> parts_;
  std::size_t borrow_bytes_;
  std::size_t part_count_ = 0;
  std::size_t part_start_ = 0;
  std::size_t copied_ = 0;
  std::size_t size_ = 0;
  bool failed_ = false;
};

namespace detail {

template <class T>
void write_parameter(BlobWriter& out, std::size_t slot, const T& value) {
  if constexpr (Codec<T>::kForm == Form::plain) {
    out.put_head(slot, &value, sizeof value);
  } else {
    Descriptor where;
    if constexpr (Codec<T>::kForm == Form::raw) {
      const auto elements = Codec<T>::view(value);
      where = out.raw(elements.data(), elements.size(), sizeof elements[0]);
    } else {
      where = out.packed(value);
    }
    out.put_head(slot, &where, sizeof where);
  }
}

template <class T>
struct PassedAs {
  using type = std::conditional_t<std::is_trivially_copyable_v<T> && sizeof(T) <= 16, T, const T&>;
};

}  // namespace detail

// How a caller passes a parameter of type T: a std::string as std::string_view, a std::vector of
// plain elements as std::span, so that what the caller has need not be copied; small values by
// value, others by const reference.
template <class T>
using Passed = typename detail::PassedAs<T>::type;

template <class... Params>
void write_blob(BlobWriter& out, const Params&... values) {
  using Head = BlobHead<Params...>;
  out.begin(Head::kSize);
  [[maybe_unused]] std::size_t index = 0;
  (detail::write_parameter(out, Head::offset(index++), values), ...);
  out.finish();
}

// True if all parameters travel as memory: the blob is its head, of a size known beforehand.
template <class... Params>
inline constexpr bool kAllPlain = ((Codec<Params>::kForm == Form::plain) && ...);

// The blob of such arguments, into BlobHead<Params...>::kSize bytes.
template <class... Params>
  requires kAllPlain<Params...>
void write_plain_blob(std::byte* memory, const Params&... values) noexcept {
  using Head = BlobHead<Params...>;
  if constexpr (Head::kSize != (std::size_t{0} + ... + sizeof(Params)))
    std::memset(memory, 0, Head::kSize);  // nothing of this process shows in the gaps
  [[maybe_unused]] std::size_t index = 0;
  (std::memcpy(memory + Head::offset(index++), &values, sizeof values), ...);
}

// The blob of some arguments, as parts to send one after another. The parts lie in the scratch
// given, in memory the encoder owns, and in the arguments themselves (if longer than kBorrowBytes):
// all three must stay while the parts are used.
template <class... Params>
class Encoder {
 public:
  explicit Encoder(std::span<std::byte> scratch, const Params&... args) {
    BlobWriter writer(scratch, parts_);
    write_blob(writer, args...);
    if (!writer.fits()) {
      owned_ = static_cast<std::byte*>(::operator new(writer.copied(), std::nothrow));
      if (owned_ == nullptr) return;
      const std::size_t size = writer.copied();
      writer = BlobWriter({owned_, size}, parts_);
      write_blob(writer, args...);
    }
    ok_ = !writer.failed();
    size_ = writer.size();
    part_count_ = writer.part_count();
  }
  ~Encoder() {
    if (owned_ != nullptr) ::operator delete(owned_);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // False: out of memory, or a container of 2^32 items or more.
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const BlobWriter::Part> parts() const noexcept {
    return {parts_.data(), part_count_};
  }

 private:
  static constexpr std::size_t kRawCount =
      (std::size_t{0} + ... + std::size_t{Codec<Params>::kForm == Form::raw});

  std::array<BlobWriter::Part, 2 * kRawCount + 1> parts_{};
  std::size_t part_count_ = 0;
  std::size_t size_ = 0;
  std::byte* owned_ = nullptr;
  bool ok_ = false;
};

// The encoder for a function's parameters, which takes arguments as Passed<Params>.
template <class... Params>
using EncoderFor = Encoder<std::remove_cvref_t<Passed<Params>>...>;

struct DecodeError {
  const char* what = "";     // a constant
  std::size_t argument = 0;  // counted from 1; 0: the blob as a whole
};

namespace detail {

// Finds a segment of the tail and checks all that its descriptor claims.
inline bool locate(std::span<const std::byte> blob, std::size_t slot, std::size_t element_size,
                   std::size_t element_align, std::span<const std::byte>& segment,
                   const char*& what) noexcept {
  Descriptor where;
  std::memcpy(&where, blob.data() + slot, sizeof where);
  if (where.count == 0) {
    what = "an empty segment has offset 0";
    return where.offset == 0;
  }
  if (where.offset % kBlobAlign != 0) {
    what = "a segment does not start at a multiple of 16";
    return false;
  }
  if (where.offset > blob.size() || where.count > (blob.size() - where.offset) / element_size) {
    what = "a segment reaches beyond the blob";
    return false;
  }
  // The distance to an object that is read where it lies may be a negative one (mobile_abi.h).
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(blob.data()) + where.offset;
  segment = {reinterpret_cast<const std::byte*>(at), where.count * element_size};
  what = "the blob is not aligned in memory";
  return reinterpret_cast<std::uintptr_t>(segment.data()) % element_align == 0;
}

template <class T>
bool read_parameter(std::span<const std::byte> blob, std::size_t slot, T& value,
                    const char*& what) {
  constexpr const char* kBadBool = "a bool is neither 0 nor 1";
  if constexpr (Codec<T>::kForm == Form::plain) {
    what = kBadBool;
    if (!PlainCheck<T>::valid(blob.data() + slot)) return false;
    std::memcpy(&value, blob.data() + slot, sizeof value);
    return true;
  } else if constexpr (Codec<T>::kForm == Form::raw) {
    using Element = typename Codec<T>::Element;
    std::span<const std::byte> segment;
    if (!locate(blob, slot, sizeof(Element), alignof(Element), segment, what)) return false;
    if constexpr (PlainCheck<Element>::kNeeded) {
      what = kBadBool;
      for (std::size_t at = 0; at < segment.size(); at += sizeof(Element)) {
        if (!PlainCheck<Element>::valid(segment.data() + at)) return false;
      }
    }
    const std::span<const Element> elements(reinterpret_cast<const Element*>(segment.data()),
                                            segment.size() / sizeof(Element));
    if constexpr (requires { value.assign(elements.data(), elements.data() + elements.size()); }) {
      // Uses memory that the value already has.
      value.assign(elements.data(), elements.data() + elements.size());
    } else {
      value = Codec<T>::make(elements);
    }
    return true;
  } else {
    std::span<const std::byte> segment;
    if (!locate(blob, slot, 1, 1, segment, what)) return false;
    Unpacker in(segment);
    what = "the msgpack value is not of the parameter's type";
    return Codec<T>::unpack(in, value) && in.remaining() == 0;
  }
}

}  // namespace detail

// Decodes a blob into the parameters' values; spans and string views in them point into the blob.
// False: `error` says why, and `values` hold anything. Throws what the values' own allocation
// throws.
template <class... Params>
[[nodiscard]] bool decode(std::span<const std::byte> blob, std::tuple<Params...>& values,
                          DecodeError& error) {
  using Head = BlobHead<Params...>;
  if (blob.size() < Head::kSize) {
    error = {.what = "the blob is shorter than its head", .argument = 0};
    return false;
  }
  const auto read_all = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return ((error.argument = I + 1,
             detail::read_parameter(blob, Head::offset(I), std::get<I>(values), error.what)) &&
            ...);
  };
  return read_all(std::index_sequence_for<Params...>{});
}

// Decodes a result, the blob of one value.
template <class R>
[[nodiscard]] bool decode_result(std::span<const std::byte> blob, R& value, DecodeError& error) {
  if (blob.size() < BlobHead<R>::kSize) {
    error = {.what = "the blob is shorter than its head", .argument = 0};
    return false;
  }
  error.argument = 1;
  return detail::read_parameter(blob, 0, value, error.what);
}

}  // namespace godwit
