// A version of an object as a file: a head of 128 bytes, then its bytes. Pure functions;
// ObjectFolder reads and writes them.
//
//   0  magic "GDWOBJ1\0"     80  lifetime kind (1), flags (1), zero (2), readers (4)
//   8  format (4), zero (4)  88  lease, ns (8)         96  written at, ns since 1970 (8)
//  16  handle (64)          104  checksum of the data (8), zero (8), checksum of 0..119 (8)
//
// All integers are little-endian. The name is OBJECT.VERSION.gdo, in hexadecimal and decimal
// digits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"
#include "ref/home/store.hpp"

namespace godwit::ref {

// What a file says about its object, besides the bytes.
struct ObjectRecord {
  Handle handle;  // of that version, as its home signed it
  Lifetime lifetime;
  // Or only out of memory for a while: it ends with the process that wrote it.
  bool persistent = false;
  // Of the clock on the wall, since the object may be looked for by a later process; from here on
  // a lease runs.
  std::int64_t written_ns = 0;

  friend bool operator==(const ObjectRecord& a, const ObjectRecord& b) {
    return a.handle == b.handle && a.lifetime.kind == b.lifetime.kind &&
           a.lifetime.readers == b.lifetime.readers && a.lifetime.lease == b.lifetime.lease &&
           a.persistent == b.persistent && a.written_ns == b.written_ns;
  }
};

struct ObjectHead {
  static constexpr std::size_t kSize = 128;
  // Larger objects are refused, so that sizes from files cannot overflow.
  static constexpr std::uint64_t kMaxObjectSize = std::uint64_t{1} << 44;

  ObjectRecord record;
  std::uint64_t data_checksum = 0;

  [[nodiscard]] std::array<std::byte, kSize> encode() const;
  // The first kSize bytes of a file, or as many as it has. Errors: bad_format, saying what is
  // wrong.
  [[nodiscard]] static Result<ObjectHead> parse(Bytes bytes);
};

struct ObjectFileName {
  static constexpr std::string_view kSuffix = ".gdo";

  ObjectId object;
  std::uint64_t version = 0;

  [[nodiscard]] static ObjectFileName of(const Handle& handle) {
    return {handle.object, handle.version};
  }
  [[nodiscard]] std::string text() const;
  // Nothing: the name of something else. Only what text() writes is accepted.
  [[nodiscard]] static std::optional<ObjectFileName> parse(std::string_view text);
  friend bool operator==(const ObjectFileName&, const ObjectFileName&) = default;
};

}  // namespace godwit::ref
