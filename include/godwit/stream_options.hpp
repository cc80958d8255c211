// What producers, consumers and topics of streams (stream.hpp) can be told.
//
//   Producer<Reading>::open(node, "readings", {.sole = true, .linger = 5ms});
//   Consumer<Reading>::join(node, "readings", "archive", {.filter = {.key_prefix = "hall/"}});
//
// All are values: copied when they are given, and of no effect when they are changed later. What
// cannot be is invalid_argument, there or at the first use; beyond a limit of batches it is the
// limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace godwit {

// What a topic keeps for those who come later, after everybody has acked it: a batch stays while
// one of these asks for it, and gives way, oldest first, where a new one would not fit. It costs
// the home's memory, within TopicOptions::max_bytes. The time is not negative.
struct Replay {
  std::uint64_t items = 0;  // at least the last so many
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds time{};  // at least what is younger
};

struct TopicOptions {
  // Of items that somebody needs: then send() waits. More than 0.
  std::uint64_t max_bytes = std::uint64_t{64} << 20;
  Replay replay{};
  // Until there have been so many groups everything is kept: whoever comes late misses nothing.
  // 0: what is sent while there is no group is for nobody. At most 1,024.
  std::uint32_t groups_awaited = 1;
};

struct ProducerOptions {
  // How the topic is to be. The first who says so decides; nobody: the standard.
  std::optional<TopicOptions> topic{};
  // Nobody else sends. If this process ends, or the producer is destroyed, before it closed the
  // topic, consumers get an error after the last item.
  bool sole = false;
  // Items are sent together: when there are so many, or so many bytes, or after `linger`. With a
  // linger of zero each is sent at once, and send() returns when the home has it. Limits: 65,536
  // items, and a quarter of the topic's max_bytes.
  std::uint32_t batch_items = 1000;
  std::size_t batch_bytes = std::size_t{256} << 10;
  std::chrono::nanoseconds linger = std::chrono::milliseconds(1);
  // How long a full topic is waited for; then send(), flush() and close() return `deadline`.
  std::chrono::nanoseconds patience = std::chrono::seconds(30);
};

// Where a new group begins, and where Consumer::seek() goes.
class StartAt {
 public:
  enum class Kind : std::uint8_t { oldest = 0, end = 1, offset = 2 };
  // With the first item that is kept.
  static constexpr StartAt oldest() noexcept { return {Kind::oldest, 0}; }
  // With what is sent from then on.
  static constexpr StartAt end() noexcept { return {Kind::end, 0}; }
  // With that item. Where it is used: not_found (it is not kept any more), invalid_argument (beyond
  // the end).
  static constexpr StartAt offset(std::uint64_t number) noexcept { return {Kind::offset, number}; }

  [[nodiscard]] constexpr Kind kind() const noexcept { return kind_; }
  [[nodiscard]] constexpr std::uint64_t number() const noexcept { return number_; }

 private:
  constexpr StartAt(Kind kind, std::uint64_t number) noexcept : kind_(kind), number_(number) {}
  Kind kind_;
  std::uint64_t number_;
};

// Which items a group wants, decided at the home: what it does not want does not travel. All
// conditions hold. The consumers of one group have the same. Each text has at most 4 KiB.
struct ItemFilter {
  std::string key_prefix{};
  std::optional<std::string> key{};
  std::uint32_t one_in = 1;  // every n-th offset, the same for all groups; at least 1
};

struct ConsumerOptions {
  StartAt start = StartAt::oldest();  // of a new group; one that is there goes on where it is
  ItemFilter filter{};
  bool lasting = true;  // false: the group ends with the last of its consumers
  // What is not acked for so long is given to another consumer; each ack of the same delivery
  // begins it anew.
  std::chrono::nanoseconds lease = std::chrono::seconds(30);
  // Of one delivery, and another is fetched meanwhile. Few, for items that take long: they are
  // spread over the consumers.
  std::uint32_t items = 1000;
  std::size_t bytes = std::size_t{4} << 20;
  bool fetch_ahead = true;
};

}  // namespace godwit
