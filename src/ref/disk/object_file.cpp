#include "ref/disk/object_file.hpp"

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/fail.hpp"
#include "ref/disk/checksum.hpp"

namespace godwit::ref {
namespace {

static_assert(std::endian::native == std::endian::little, "Layout lies in files as in memory");

struct Layout {
  char magic[8] = {'G', 'D', 'W', 'O', 'B', 'J', '1', '\0'};
  std::uint32_t format = 2;
  std::uint32_t zero_format = 0;
  Handle handle;
  std::uint8_t lifetime_kind = 0;
  std::uint8_t flags = 0;
  std::uint16_t zero_flags = 0;
  std::uint32_t readers = 0;
  std::int64_t lease_ns = 0;
  std::int64_t written_ns = 0;
  std::uint64_t data_checksum = 0;
  std::uint64_t zero_data = 0;
  std::uint64_t head_checksum = 0;
};
static_assert(sizeof(Layout) == ObjectHead::kSize && offsetof(Layout, handle) == 16 &&
              offsetof(Layout, lifetime_kind) == 80 && offsetof(Layout, data_checksum) == 104 &&
              offsetof(Layout, head_checksum) == 120);

constexpr std::uint8_t kPersistent = 1;

std::uint64_t checksum_of(const Layout& layout) {
  return Checksum::of(bytes_of_value(layout).first(offsetof(Layout, head_checksum)));
}

Status check_frame(const Layout& layout) {
  const Layout good;
  if (std::memcmp(layout.magic, good.magic, sizeof good.magic) != 0)
    return fail(ErrorCode::bad_format, "it does not begin as an object does");
  if (layout.format != good.format)
    return fail(ErrorCode::bad_format, "it is of format {}, and this program knows {} only",
                layout.format, good.format);
  if (layout.head_checksum != checksum_of(layout))
    return fail(ErrorCode::bad_format, "its head was damaged: the checksum differs");
  return {};
}

Status check_fields(const Layout& layout) {
  const Handle& handle = layout.handle;
  if (handle.format != Handle::kFormat)
    return fail(ErrorCode::bad_format, "its handle is of format {}, and this program knows {} only",
                handle.format, Handle::kFormat);
  if (handle.version == 0) return fail(ErrorCode::bad_format, "its version is 0");
  if (handle.size > ObjectHead::kMaxObjectSize)
    return fail(ErrorCode::bad_format, "its size of {} bytes is beyond the limit of {}",
                handle.size, ObjectHead::kMaxObjectSize);
  if (layout.lifetime_kind > static_cast<std::uint8_t>(LifetimeKind::readers))
    return fail(ErrorCode::bad_format,
                "its lifetime is of kind {}, which this program does not know",
                layout.lifetime_kind);
  if (layout.lease_ns < 0) return fail(ErrorCode::bad_format, "its lease is negative");
  if (layout.flags > kPersistent || layout.zero_format != 0 || layout.zero_flags != 0 ||
      layout.zero_data != 0)
    return fail(ErrorCode::bad_format, "it says something that this program does not know");
  return {};
}

}  // namespace

std::array<std::byte, ObjectHead::kSize> ObjectHead::encode() const {
  Layout layout;
  layout.handle = record.handle;
  layout.lifetime_kind = static_cast<std::uint8_t>(record.lifetime.kind);
  layout.flags = record.persistent ? kPersistent : 0;
  layout.readers = record.lifetime.readers;
  layout.lease_ns = record.lifetime.lease.count();
  layout.written_ns = record.written_ns;
  layout.data_checksum = data_checksum;
  layout.head_checksum = checksum_of(layout);
  return std::bit_cast<std::array<std::byte, kSize>>(layout);
}

Result<ObjectHead> ObjectHead::parse(Bytes bytes) {
  if (bytes.size() < kSize)
    return fail(ErrorCode::bad_format, "it has {} bytes, fewer than its head: it was cut short",
                bytes.size());
  Layout layout;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  GODWIT_CHECK(check_frame(layout));
  GODWIT_CHECK(check_fields(layout));
  ObjectHead head;
  head.record.handle = layout.handle;
  head.record.lifetime = {static_cast<LifetimeKind>(layout.lifetime_kind), layout.readers,
                          Duration(layout.lease_ns)};
  head.record.persistent = (layout.flags & kPersistent) != 0;
  head.record.written_ns = layout.written_ns;
  head.data_checksum = layout.data_checksum;
  return head;
}

std::string ObjectFileName::text() const {
  return fmt::format("{}.{}{}", object.hex(), version, kSuffix);
}

std::optional<ObjectFileName> ObjectFileName::parse(std::string_view text) {
  ObjectFileName name;
  constexpr std::size_t kDigits = 2 * sizeof name.object.bytes;
  constexpr std::size_t kMostDigits = std::numeric_limits<std::uint64_t>::digits10 + 1;
  if (text.size() < kDigits + 2 + kSuffix.size() ||
      text.size() > kDigits + 1 + kMostDigits + kSuffix.size())
    return std::nullopt;
  for (std::size_t i = 0; i < name.object.bytes.size(); ++i) {
    const char* digits = text.data() + 2 * i;
    if (std::from_chars(digits, digits + 2, name.object.bytes[i], 16).ptr != digits + 2)
      return std::nullopt;
  }
  const std::string_view rest = text.substr(kDigits + 1);
  std::from_chars(rest.data(), rest.data() + rest.size(), name.version);
  if (name.version == 0 || name.text() != text) return std::nullopt;
  return name;
}

}  // namespace godwit::ref
