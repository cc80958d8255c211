// One screen that shows the point: code that no node has ever seen runs there, at the cost of a
// message, travels, and survives the death of a node.
#include <godwit/godwit.hpp>
#include <godwit/mobile/call.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#ifdef GODWIT_WITH_FLOORS
#include "floors/floors.hpp"
#endif

namespace {

using Payload = std::array<std::uint64_t, 8>;
using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point began) {
  return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
}

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "demo: %s\n", what.c_str());
  std::exit(1);
}

template <class T>
T need(godwit::Result<T> result) {
  if (!result) give_up(result.error().message);
  return *std::move(result);
}
template <class T>
T need(godwit::Outcome<T> outcome) {
  if (!outcome) give_up(to_string(outcome.error()));
  return *std::move(outcome);
}

// The raw UCX round trip between two processes of this host, before we have threads of our own.
double raw_ucx_us() {
#ifdef GODWIT_WITH_FLOORS
  const auto sample = godwit::floors::measure_ucp_am({});
  return sample ? sample->p50_us : 0;
#else
  return 0;
#endif
}

void show_latency(const godwit::Bundle& code, godwit::NodeHandle node, double ucx_us) {
  const auto echo = need(code.function<Payload(Payload)>("echo")).on(node);
  const Payload payload{1, 2, 3, 4, 5, 6, 7, 8};
  const auto began = Clock::now();
  need(echo(payload).get());
  std::printf(
      "  first call of code %s has never seen  %8.0f us  (code sent, verified, loaded, run)\n",
      node.name().c_str(), us_since(began));
  std::vector<double> times(20'000);
  for (double& time : times) {
    const auto start = Clock::now();
    need(echo(payload).get());
    time = us_since(start);
  }
  std::nth_element(times.begin(), times.begin() + 10'000, times.end());
  std::printf("  every later call, 64 bytes              %8.2f us  (median of 20,000)\n",
              times[10'000]);
  if (ucx_us > 0) {
    std::printf("  raw UCX active message round trip       %8.2f us\n", ucx_us);
  }
}

void show_tour(const godwit::Bundle& code, const godwit::Fleet& fleet) {
  using Seen = std::vector<godwit::Node>;
  const auto tour = need(code.function<Seen(Seen, std::uint32_t)>("tour"));
  need(tour.on(fleet.node(0))({}, 1).get());
  const auto began = Clock::now();
  const Seen seen = need(tour.on(fleet.node(0))({}, 1).get());
  const double took = us_since(began);
  std::string route;
  for (const godwit::Node& at : seen) {
    for (const godwit::NodeHandle& node : fleet.nodes()) {
      if (node.id() == at.id) route += (route.empty() ? "" : " -> ") + node.name();
    }
  }
  std::printf("  %s -> home in %.0f us\n", route.c_str(), took);
}

void show_death(const godwit::Bundle& code, godwit::Fleet& fleet, godwit::NodeHandle victim) {
  const auto plain = need(code.function<std::uint32_t(std::uint32_t)>("slow")).on(victim);
  const auto again =
      need(code.function<std::uint32_t(std::uint32_t)>("slow_idempotent")).on(victim);
  need(plain(0).get());
  auto lost = plain(1);
  std::vector<godwit::Future<std::uint32_t>> retried;
  for (std::uint32_t i = 0; i < 4; ++i) retried.push_back(again(i));
  if (lost.wait_for(std::chrono::milliseconds(20))) give_up("the slow call was not slow");
  const std::string name = victim.name();
  if (auto killed = fleet.kill(victim); !killed) give_up(killed.error().message);
  const auto began = Clock::now();
  const auto outcome = lost.get();
  std::printf("  kill -9 %s: the plain call says '%s' after %.1f ms\n", name.c_str(),
              std::string(to_string(outcome.ending())).c_str(), us_since(began) / 1000);
  if (auto restarted = fleet.restart(victim); !restarted) give_up(restarted.error().message);
  std::uint32_t completed = 0;
  for (std::uint32_t i = 0; i < 4; ++i) completed += need(retried[i].get()) == i ? 1 : 0;
  std::printf(
      "  %s restarted: %u of 4 idempotent calls completed; the code was sent again by itself\n",
      name.c_str(), completed);
  if (outcome.ending() != godwit::Ending::node_lost || completed != 4) give_up("that is wrong");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string bundle =
      argc > 1
          ? argv[1]
          : (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "demo.gdw").string();
  const double ucx_us = raw_ucx_us();
  const godwit::Bundle code = need(godwit::Bundle::open(bundle));
  std::printf("Godwit: code that travels\n\n");
  const auto began = Clock::now();
  godwit::LocalOptions options;
  options.node_arguments = {"--spin-us=2000"};
  options.client.spin_us = 2000;
  godwit::Fleet fleet = need(godwit::Fleet::local(4, options));
  std::printf("four nodes up in %.0f ms:", us_since(began) / 1000);
  for (const godwit::NodeHandle& node : fleet.nodes()) std::printf(" %s", node.name().c_str());
  std::printf("\n\na function, injected into %s:\n", fleet.node(1).name().c_str());
  show_latency(code, fleet.node(1), ucx_us);
  std::printf("\na function that travels:\n");
  show_tour(code, fleet);
  std::printf("\na node that dies:\n");
  show_death(code, fleet, fleet.node(2));
  return 0;
}
