// Table messages from anywhere: decoding, merging and answering them must neither crash nor grow
// beyond the limits, and what decodes must survive being encoded again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fleet/gossip.hpp"
#include "fleet/message.hpp"

namespace {

using namespace godwit;

// Time stands still and no timer fires: one message at a time is enough here.
class StillScheduler final : public Scheduler {
 public:
  Time now() const override { return {}; }
  void post(Task /*task*/) override {}
  TimerId post_at(Time /*when*/, Task /*task*/) override { return {}; }
  void cancel(TimerId /*timer*/) override {}
  void offload(Task /*work*/, Task /*done*/) override {}
};

class CheckingLinks final : public fleet::Links {
 public:
  void send_table(NodeId /*to*/, Bytes message) override {
    if (!fleet::decode(message)) std::abort();  // what we answer, we must understand
  }
  void reach(std::string_view /*address*/) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes input = std::as_bytes(std::span(data, size));
  if (const auto message = fleet::decode(input)) {
    const auto again = fleet::decode(fleet::encode(*message));
    // Sharing inside a buffer is lost in re-encoding, so a small message may become too large.
    if (!again && again.error().code != ErrorCode::too_large) std::abort();
  }
  StillScheduler scheduler;
  CheckingLinks links;
  fleet::Table table(fleet::Table::Self{{1}, {1}},
                     {.max_nodes = 8, .max_names = 8, .max_graves = 2});
  fleet::Gossip gossip(scheduler, links, table, {});
  gossip.start();
  if (!table.publish({.name = "self", .addresses = {"sim:1"}})) std::abort();
  if (!table.put_name("key", bytes_of("value"))) std::abort();
  (void)gossip.on_table({2}, input);
  (void)gossip.on_table({2}, input);
  if (table.node_count() > 8) std::abort();
  return 0;
}
