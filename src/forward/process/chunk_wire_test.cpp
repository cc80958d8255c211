// What comes off the wire is checked before it is believed.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "forward/control.hpp"
#include "forward/process/chunk_wire.hpp"
#include "forward/process/departures.hpp"

namespace godwit::forward {
namespace {

struct Plain {
  std::uint64_t words[2];
};
struct Head {
  std::uint32_t number;
};
constexpr std::array kTypes{detail::item_type<Plain>(), detail::item_type<Tailed<Head, double>>()};
using Record = detail::ItemTraits<Tailed<Head, double>>;

ChunkWire plain_wire(std::uint32_t count) {
  ChunkWire wire;
  wire.used = count * sizeof(Plain);
  wire.count = count;
  return wire;
}

std::vector<std::byte> message(const ChunkWire& wire, std::size_t items_bytes) {
  std::vector<std::byte> bytes(sizeof wire + items_bytes);
  std::memcpy(bytes.data(), &wire, sizeof wire);
  return bytes;
}

std::vector<std::byte> records(const std::vector<std::uint32_t>& tails) {
  std::vector<std::byte> bytes;
  for (const std::uint32_t elements : tails) {
    const detail::TailMark mark{elements,
                                static_cast<std::uint32_t>(Record::record_bytes(elements))};
    const std::size_t at = bytes.size();
    bytes.resize(at + mark.bytes);
    std::memcpy(bytes.data() + at, &mark, sizeof mark);
  }
  return bytes;
}

TEST(ChunkWireTest, IsReadWithItsItemsOrWithoutThem) {
  EXPECT_TRUE(read_chunk(message(plain_wire(3), 3 * sizeof(Plain)), 0));
  ChunkWire away = plain_wire(3);
  away.items_at = 4096;
  EXPECT_TRUE(read_chunk(message(away, 0), 4096 + 3 * sizeof(Plain)));
}

TEST(ChunkWireTest, SaysNothingOfItemsThatAreNotThere) {
  EXPECT_FALSE(read_chunk(message(plain_wire(3), 0), 0));
  EXPECT_FALSE(read_chunk(message(plain_wire(3), 3 * sizeof(Plain) + 1), 0));
  EXPECT_FALSE(read_chunk(std::vector<std::byte>(sizeof(ChunkWire) - 1), 0));
  ChunkWire away = plain_wire(3);
  for (const std::uint64_t at : {std::uint64_t{64}, ~std::uint64_t{63}, std::uint64_t{1} << 40}) {
    away.items_at = at;
    EXPECT_FALSE(read_chunk(message(away, 0), 64 + 3 * sizeof(Plain) - 1)) << at;
  }
  away.items_at = 8;
  EXPECT_FALSE(read_chunk(message(away, 0), 4096)) << "not where items can begin";
  away.items_at = 0;
  away.kind = kControlKind;
  EXPECT_FALSE(read_chunk(message(away, 0), 4096)) << "control in memory its sender can change";
  ChunkWire urgent = plain_wire(1);
  urgent.priority = kPriorities;
  EXPECT_FALSE(read_chunk(message(urgent, sizeof(Plain)), 0));
}

TEST(ChunkWireTest, CountsItsItems) {
  const std::vector<std::byte> items(4 * sizeof(Plain));
  EXPECT_TRUE(check_items(plain_wire(4), items, kTypes));
  EXPECT_FALSE(check_items(plain_wire(3), items, kTypes));
  EXPECT_FALSE(check_items(plain_wire(0), {}, kTypes));
  ChunkWire overflowing = plain_wire(4);
  overflowing.count = 4 + (1U << 28);  // times 16 is 64 in 32 bits
  EXPECT_FALSE(check_items(overflowing, items, kTypes));
  ChunkWire unknown = plain_wire(4);
  unknown.kind = 2;
  EXPECT_FALSE(check_items(unknown, items, kTypes));
}

TEST(ChunkWireTest, WalksItsRecords) {
  ChunkWire wire;
  wire.kind = 1;
  wire.count = 3;
  std::vector<std::byte> bytes = records({0, 5, 2});
  wire.used = static_cast<std::uint32_t>(bytes.size());
  EXPECT_TRUE(check_items(wire, bytes, kTypes));
  wire.count = 2;
  EXPECT_FALSE(check_items(wire, bytes, kTypes));
  wire.count = 4;
  EXPECT_FALSE(check_items(wire, bytes, kTypes));
  wire.count = 3;
  EXPECT_FALSE(check_items(wire, Bytes(bytes).first(bytes.size() - 1), kTypes));
  for (const detail::TailMark mark : {detail::TailMark{0, 0}, detail::TailMark{1, 16},
                                      detail::TailMark{~0U, ~0U}, detail::TailMark{0, 24}}) {
    std::memcpy(bytes.data(), &mark, sizeof mark);
    EXPECT_FALSE(check_items(wire, bytes, kTypes)) << mark.elements << " " << mark.bytes;
  }
}

TEST(ChunkWireTest, KnowsControlWhenItSeesIt) {
  ChunkWire wire;
  wire.kind = kControlKind;
  Control control{.kind = ControlKind::over};
  EXPECT_TRUE(check_items(wire, bytes_of_value(control), kTypes));
  EXPECT_FALSE(check_items(wire, bytes_of_value(control).first(sizeof control - 1), kTypes));
  control.kind = static_cast<ControlKind>(9);
  EXPECT_FALSE(check_items(wire, bytes_of_value(control), kTypes));
  control.kind = ControlKind::termination;
  control.termination.kind = static_cast<TerminationMessage::Kind>(9);
  EXPECT_FALSE(check_items(wire, bytes_of_value(control), kTypes));
}

// Counts what comes home.
struct Home final : detail::ChunkHome {
  void give_back(detail::Chunk*) noexcept override { ++back; }
  int back = 0;
};

TEST(DeparturesTest, GoHomeWhenNobodyNeedsThem) {
  Home home;
  detail::Chunk chunk;
  chunk.home = &home;
  Departures departures;
  const std::uint32_t ticket = departures.add(&chunk, {});
  departures[ticket].borrowed = true;
  departures[ticket].owed = true;
  departures.settle(ticket);
  EXPECT_TRUE(departures.returned(ticket));
  EXPECT_EQ(home.back, 0) << "the transport still reads it";
  EXPECT_FALSE(departures.returned(ticket)) << "a ticket counts once";
  departures.sent(ticket);
  EXPECT_EQ(home.back, 1);
  EXPECT_FALSE(departures.returned(ticket));
  EXPECT_FALSE(departures.returned(99));
  EXPECT_EQ(departures.add(&chunk, {}), ticket) << "tickets are used again";
  departures.give_all_back();
  EXPECT_EQ(home.back, 2);
}

}  // namespace
}  // namespace godwit::forward
