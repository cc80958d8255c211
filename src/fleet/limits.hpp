// How large the fleet's table and its messages may grow. Checked for what is written here and for
// what arrives alike.
#pragma once

#include <cstddef>
#include <cstdint>

namespace godwit::fleet {

constexpr std::size_t kMaxNodeNameBytes = 256;
constexpr std::size_t kMaxAddresses = 8;
constexpr std::size_t kMaxAddressBytes = 256;
constexpr std::size_t kMaxTargetFieldBytes = 128;
constexpr std::size_t kMaxKeyBytes = 256;
constexpr std::size_t kMaxValueBytes = 4096;
// A version counter beyond this is refused: nobody can write after it.
constexpr std::uint64_t kMaxCounter = std::uint64_t{1} << 62U;

// A message that arrives larger than this is refused unread.
constexpr std::size_t kMaxMessageBytes = 128 * 1024;
// What a sender puts into one message, and so sends per step of an exchange.
constexpr std::size_t kEntryBytesPerMessage = 32 * 1024;
constexpr std::size_t kStampsPerMessage = 2048;
constexpr std::size_t kWantsPerMessage = 1024;
constexpr std::size_t kEntriesPerMessage = 1024;

struct TableLimits {
  // More than this are refused: locally with resource_exhausted, from others by counting them.
  std::size_t max_nodes = 65'536;
  std::size_t max_names = 65'536;
  // Lost nodes and erased names are remembered so that old news of them is recognised. Beyond this
  // many the oldest are forgotten, by the same rule everywhere.
  std::size_t max_graves = 4096;
};

}  // namespace godwit::fleet
