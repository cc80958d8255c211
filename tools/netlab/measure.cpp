#include "netlab/measure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/fail.hpp"
#include "netlab/traffic.hpp"

namespace godwit::netlab {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::uint16_t kPort = 7000;
constexpr milliseconds kLimit{30'000};
constexpr milliseconds kPatience{1000};
constexpr std::size_t kPings = 1000;
constexpr std::size_t kDatagrams = 200'000;
constexpr std::size_t kStreamBytes = std::size_t{512} << 20U;

double us_at(Numbers& sorted_ns, double quantile) {
  const auto last = static_cast<double>(sorted_ns.size() - 1);
  return static_cast<double>(sorted_ns[static_cast<std::size_t>(last * quantile)]) / 1e3;
}

struct Trip {
  std::uint32_t from = 0;
  std::string to;
};

Status print_round_trip(const Lab& lab, std::string_view label, const Trip& trip,
                        nanoseconds delay) {
  GODWIT_TRY(Asked pings, Asked::start(lab, trip.from, [&] {
               return ping({.address = trip.to, .port = kPort}, {.count = kPings});
             }));
  GODWIT_TRY(Numbers times, pings.get(kLimit));
  if (times.empty()) return fail(ErrorCode::internal, "no ping came back");
  std::sort(times.begin(), times.end());
  const double asked_us = 2 * static_cast<double>(delay.count()) / 1e3;
  const double p50 = us_at(times, 0.5);
  const double p99 = us_at(times, 0.99);
  fmt::print("  {:<26}{:>10.1f}{:>10.1f}{:>12.1f}{:>10.1f}\n", label, p50, p99, p50 - asked_us,
             p99 - asked_us);
  return {};
}

Status print_lateness(microseconds spin) {
  fmt::print("Round trips of {} datagrams of 64 bytes, in us; late: beyond twice the delay\n",
             kPings);
  fmt::print("  {:<26}{:>10}{:>10}{:>12}{:>10}\n", "DELAY", "P50", "P99", "LATE P50", "LATE P99");
  GODWIT_TRY(const auto lab, Lab::create({.hosts = 2, .spin = spin}));
  const auto echo = [] { return echo_datagrams(kPort); };
  GODWIT_TRY(const Process here, lab->fork(0, echo));
  GODWIT_TRY(const Process there, lab->fork(1, echo));
  GODWIT_CHECK(print_round_trip(*lab, "none: one host's loopback", {0, lab->address(0)}, {}));
  GODWIT_CHECK(print_round_trip(*lab, "none: through the switch", {0, lab->address(1)}, {}));
  for (const microseconds delay :
       {microseconds(100), microseconds(300), microseconds(1000), microseconds(5000)}) {
    GODWIT_CHECK(lab->set_shape({.delay = delay}));
    GODWIT_CHECK(
        print_round_trip(*lab, fmt::format("{} us", delay.count()), {0, lab->address(1)}, delay));
  }
  fmt::print("  switch: {}, polls {} us before a packet is due\n",
             lab->is_realtime() ? "realtime priority" : "no realtime priority", spin.count());
  return {};
}

Status print_packet_rate() {
  GODWIT_TRY(const auto lab, Lab::create({.hosts = 2}));
  GODWIT_TRY(Asked sink,
             Asked::start(*lab, 1, [] { return count_datagrams(kPort, kDatagrams, kPatience); }));
  GODWIT_TRY(Asked source, Asked::start(*lab, 0, [&] {
               return send_datagrams({.address = lab->address(1), .port = kPort},
                                     {.count = kDatagrams});
             }));
  GODWIT_TRY(const Numbers came, sink.get(kLimit));
  const double seconds = static_cast<double>(came.at(1)) / 1e9;
  fmt::print("Datagrams of 64 bytes, one sender that does not wait: {:.0f} a second arrive\n",
             static_cast<double>(came.at(0)) / seconds);
  return {};
}

Status print_throughput(std::uint32_t mtu_bytes) {
  GODWIT_TRY(const auto lab, Lab::create({.hosts = 2, .mtu_bytes = mtu_bytes}));
  GODWIT_TRY(Asked sink, Asked::start(*lab, 1, [] { return receive_stream(kPort, kPatience); }));
  GODWIT_TRY(Asked source, Asked::start(*lab, 0, [&] {
               return send_stream({.address = lab->address(1), .port = kPort}, kStreamBytes,
                                  kPatience);
             }));
  GODWIT_TRY(const Numbers came, sink.get(kLimit));
  fmt::print("One TCP connection, MTU {:>5}: {:.2f} Gbit/s\n", mtu_bytes,
             8 * static_cast<double>(came.at(0)) / static_cast<double>(came.at(1)));
  return {};
}

}  // namespace

Status print_measurements(microseconds spin) {
  GODWIT_CHECK(print_lateness(spin));
  GODWIT_CHECK(print_packet_rate());
  for (const std::uint32_t mtu_bytes : {1500U, 9000U, kMaxMtuBytes}) {
    GODWIT_CHECK(print_throughput(mtu_bytes));
  }
  return {};
}

}  // namespace godwit::netlab
