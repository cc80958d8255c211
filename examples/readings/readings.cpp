// Readings of sensors go through a topic to two groups: one keeps all of them, the other, two
// consumers that share the work, looks for what is too hot.
#include <fmt/format.h>
#include <godwit/godwit.hpp>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Reading {
  std::uint64_t sensor = 0;
  double celsius = 0;
};
GODWIT_STRUCT(Reading, sensor, celsius);

constexpr std::uint64_t kSensors = 8;
constexpr std::uint64_t kReadings = 100'000;

void need(const godwit::Status& status) {
  if (status) return;
  fmt::print(stderr, "readings: {}\n", status.error().message);
  std::exit(EXIT_FAILURE);
}

void measure(const godwit::NodeHandle& home) {
  auto out = godwit::Producer<Reading>::open(home, "readings", {.sole = true}).value();
  for (std::uint64_t i = 0; i < kReadings; ++i) {
    const std::uint64_t sensor = i % kSensors;
    const double celsius = 20.0 + static_cast<double>(i % 1000) / 50.0;
    const std::string key = fmt::format("{}/{}", sensor < 2 ? "oven" : "hall", sensor);
    need(out.send(Reading{sensor, celsius}, key));
  }
  need(out.close());
}

// Every group sees every item.
std::uint64_t archive(const godwit::NodeHandle& home) {
  auto in = godwit::Consumer<Reading>::join(home, "readings", "archive").value();
  std::uint64_t kept = 0;
  while (auto item = in.next().value()) {
    ++kept;
    item->ack();
  }
  return kept;
}

// The consumers of one group share its items. The filter is the home's: other keys do not travel.
std::uint64_t watch(const godwit::NodeHandle& home) {
  auto in = godwit::Consumer<Reading>::join(home, "readings", "watch",
                                            {.filter = {.key_prefix = "oven/"}, .items = 200})
                .value();
  std::uint64_t hot = 0;
  while (auto item = in.next().value()) {
    if ((*item)->celsius > 39.0) ++hot;
    item->ack();
  }
  return hot;
}

}  // namespace

int main() {
  auto fleet = godwit::Fleet::local(2).value();
  const godwit::NodeHandle home = fleet.node(0);
  std::atomic<std::uint64_t> hot{0};
  std::vector<std::thread> watchers;
  for (int i = 0; i < 2; ++i) watchers.emplace_back([&] { hot += watch(home); });
  std::uint64_t kept = 0;
  std::thread archivist([&] { kept = archive(home); });
  measure(home);
  archivist.join();
  for (std::thread& watcher : watchers) watcher.join();
  fmt::print("{} readings archived, {} of the ovens above 39 degrees\n", kept, hot.load());
  const auto topic = godwit::topic_status(home, "readings").value();
  for (const godwit::GroupStatus& group : topic.groups) {
    fmt::print("group {}: {} delivered, {} again, {} not wanted\n", group.name, group.delivered,
               group.redelivered, group.filtered);
  }
  return kept == kReadings && hot == 1200 ? EXIT_SUCCESS : EXIT_FAILURE;
}
