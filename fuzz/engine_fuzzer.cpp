// Every kind of message, from a peer that shook hands like any other, given to an engine with calls
// of others under way: waiting for code, running, travelling.
//
// Input: messages, one after another: a wire::Header as it is on the wire, the size of the body in
// 16 bits, the body. A last message that is cut short is sent with what there is.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "call/raw_peer.hpp"

namespace {

using namespace godwit;
using namespace std::chrono_literals;

constexpr std::size_t kMaxMessages = 64;
// Messages between two looks at the world: some meet what others began, some what they ended.
constexpr std::size_t kMessagesPerLook = 4;

void require(bool condition) {
  if (!condition) std::abort();
}

template <class T>
T take(Bytes& input) {
  T value{};
  const std::size_t size = std::min(sizeof value, input.size());
  std::memcpy(static_cast<void*>(&value), input.data(), size);
  input = input.subspan(size);
  return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes input = std::as_bytes(std::span(data, size));
  fabric::sim::Options options;
  options.later_chance = 0;
  call::sim::SimFleet fleet(1, options, {.nodes = 2, .clients = 1, .bundles = 1});
  const auto client = fleet.client_process(0);
  const auto& first = fleet.call(client, fleet.node(0), 0, call::sim::echo, 0, 10s);
  require(fleet.world().run_until([&] { return first.ended == 1; }, 10s));
  call::sim::RawPeer hostile(fleet);
  require(fleet.world().run_until([&] { return hostile.up; }, 5s));
  fleet.call(client, fleet.node(0), 0, call::sim::work, 0, 10s);
  fleet.call(client, fleet.node(0), 0, call::sim::travel, 3, 10s);
  fleet.world().run_for(1ms);

  for (std::size_t i = 0; i < kMaxMessages && !input.empty() && hostile.up; ++i) {
    const auto header = take<wire::Header>(input);
    const std::size_t body_size = take<std::uint16_t>(input);
    const Bytes body = input.first(std::min(body_size, input.size()));
    hostile.send(header, body);
    input = input.subspan(body.size());
    if (i % kMessagesPerLook == 0) fleet.world().run_for(1ms);
  }
  fleet.world().run_for(30s);  // every deadline has passed
  require(fleet.all_ended());
  const auto& after = fleet.call(client, fleet.node(0), 0, call::sim::work, 0, 10s);
  require(fleet.world().run_until([&] { return after.ended == 1; }, 10s));
  require(after.outcome.ending == Ending::ok);
  return 0;
}
