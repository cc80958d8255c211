// What a simulated world is made of: its delays, its faults, and what it reports about itself.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/ids.hpp"
#include "base/scheduler.hpp"

namespace godwit::fabric::sim {

// A simulated process, across its restarts. Its address is "sim:<index>"; indices start at 1.
struct ProcessId {
  std::uint32_t index = 0;
  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

// A duration drawn uniformly from [least, most]. Integers only, so that a seed means the same run
// on every machine.
struct Delay {
  Duration least{0};
  Duration most{0};
};

// What happened in one step of the world.
enum class What : std::uint8_t {
  driver,   // a task of the test itself (World::after)
  task,     // a posted task
  timer,    // a post_at() task
  loaded,   // the second half of an offload()
  arrive,   // a connection request reached its target
  up,       // on_up
  down,     // on_down
  message,  // on_message
  gather,   // the world reads parts it borrowed from a sender
  sent,     // on_sent
  timeout,  // the world looks whether a link or a connect has been silent too long
  turn,     // a slow process becomes free for its next event
};
[[nodiscard]] std::string_view to_string(What what) noexcept;

struct TraceEvent {
  Time at;
  What what = What::task;
  ProcessId process;         // index 0: the world itself
  LinkId link;               // none for tasks
  std::uint64_t detail = 0;  // message: a hash of header and size; otherwise 0
};

struct Counters {
  std::uint64_t events = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_delivered = 0;
  std::uint64_t messages_lost = 0;  // each of them on a link that died
  std::uint64_t bytes_sent = 0;     // headers and bodies
  std::uint64_t links_made = 0;     // counted when the asking side is up
  std::uint64_t links_broken = 0;
};

struct Options {
  // How long a message takes, without its size.
  Delay message_delay{std::chrono::microseconds(1), std::chrono::microseconds(20)};
  std::uint64_t bytes_per_second = 10'000'000'000;
  // A message drawn for reordering takes this much longer and may be overtaken. Messages that are
  // not drawn stay in order among themselves.
  double reorder_chance = 0.1;
  Delay reorder_delay{std::chrono::microseconds(10), std::chrono::microseconds(500)};

  // Per message: the link breaks as it is sent.
  double link_break_chance = 0;
  // Per message in flight on a link that breaks: it still arrives, if the receiver's side is up.
  double survive_break_chance = 0.5;
  // From the break of a link, or the crash of a process, until a side is told; drawn per side.
  Delay down_delay{std::chrono::microseconds(10), std::chrono::milliseconds(5)};
  double connect_failure_chance = 0;
  Duration connect_timeout = std::chrono::seconds(1);
  // How long a partition lasts before the links across it die.
  Duration liveness_timeout = std::chrono::seconds(2);

  std::size_t small_limit_bytes = 1024;
  // Per body above small_limit_bytes: send() answers `later`, and the parts are read only after
  // gather_delay. The world checks that nobody touched them in between.
  double later_chance = 0.5;
  Delay gather_delay{std::chrono::microseconds(1), std::chrono::milliseconds(2)};
  // Per body of at least discard_from_bytes: it arrives as Message::Discarded.
  double discard_chance = 0;
  std::size_t discard_from_bytes = 1;

  // How long offload()ed work takes in simulated time.
  Delay load_delay{std::chrono::microseconds(100), std::chrono::milliseconds(5)};

  // More waiting events than this is a violation: something sends or posts without bound.
  std::size_t max_waiting_events = std::size_t{1} << 24U;

  // Told when a process breaks the transport's contract (touches borrowed parts) or a limit above
  // is passed. Without one, the message and the seed are printed and the program aborts.
  std::function<void(std::string_view message)> on_violation{};
  // Told of every event before it runs: to print the story of a failing seed.
  std::function<void(const TraceEvent&)> on_event{};
};

}  // namespace godwit::fabric::sim
