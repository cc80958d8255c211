// Mobile code of the demo.
#include <godwit/mobile.hpp>
#include <godwit/mobile/std.hpp>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

using Payload = std::array<std::uint64_t, 8>;  // 64 bytes

Payload echo(godwit::Here&, Payload payload) {
  return payload;
}
GODWIT_EXPORT(echo, inline_);

godwit::Next<std::vector<godwit::Node>> tour(godwit::Here& here, std::vector<godwit::Node> seen,
                                             std::uint32_t rounds) {
  std::vector<godwit::Node> nodes(64);
  nodes.resize(here.nodes(nodes));
  seen.push_back(here.self());
  if (seen.size() > rounds * nodes.size()) return seen;
  return here.continue_at<tour>(nodes[seen.size() % nodes.size()], seen, rounds);
}
GODWIT_EXPORT(tour);

// Takes its time, so that a node can die in the middle of it.
std::uint32_t slow(godwit::Here&, std::uint32_t value) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return value;
}
GODWIT_EXPORT(slow);

std::uint32_t slow_idempotent(godwit::Here& here, std::uint32_t value) {
  return slow(here, value);
}
GODWIT_EXPORT(slow_idempotent, idempotent);
