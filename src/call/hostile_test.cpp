// Peers that send nonsense: each message is refused or ignored, and the node keeps serving.
#include <gtest/gtest.h>

#include "call/sim_fleet.hpp"

namespace godwit::call::sim {
namespace {

using std::chrono::seconds;

// A process that shakes hands like any other, and then sends what it likes.
struct Hostile final : fabric::TransportEvents {
  explicit Hostile(SimFleet& fleet) : id(fleet.world().add_process()) {
    transport = fleet.world().transport(id, *this, wire::encode({16, false, "hostile", {}}));
    link = transport->connect(fleet.world().address(fleet.node_process(0))).value();
  }
  void on_up(LinkId, const fabric::Hello&) override { up = true; }
  void on_down(LinkId, const Error&) override { up = false; }
  void on_message(LinkId, fabric::Message&) override { ++answers; }
  void on_sent(LinkId, std::uint64_t) override {}
  void send(const wire::Header& header, Bytes body) {
    static_cast<void>(transport->send(link, header, {&body, 1}, 0));
  }

  ProcessId id;
  std::unique_ptr<fabric::Transport> transport;
  LinkId link;
  bool up = false;
  std::size_t answers = 0;
};

TEST(HostilePeer, TenThousandMessagesOfNonsenseDoNotDisturbTheNode) {
  fabric::sim::Options options;
  options.later_chance = 0;
  SimFleet fleet(77, options, {});
  Record& warm = fleet.call(fleet.client_process(0), fleet.node(0), 0, work, 0, seconds(10));
  ASSERT_TRUE(fleet.world().run_until([&] { return warm.ended == 1; }, seconds(10)));

  Hostile hostile(fleet);
  ASSERT_TRUE(fleet.world().run_until([&] { return hostile.up; }, seconds(5)));
  Random random(5);
  std::vector<std::byte> body;
  for (int i = 0; i < 10'000; ++i) {
    wire::Header header;
    header.kind = static_cast<wire::Kind>(random.below(40));
    header.flags = static_cast<std::uint8_t>(random.below(256));
    header.extension_size =
        static_cast<std::uint16_t>(random.below(4) * (random.chance(0.3) ? 999 : 16));
    header.aux = static_cast<std::uint32_t>(random.next());
    header.id = random.chance(0.5) ? random.below(100) : random.next();
    header.subject =
        random.chance(0.5) ? (random.below(8) << 32U) | random.below(3) : random.next();
    body.resize(random.below(300));
    for (std::byte& b : body)
      b = static_cast<std::byte>(random.below(random.chance(0.5) ? 4 : 256));
    if (body.size() >= sizeof(wire::CodeExtension) && random.chance(0.3)) {
      wire::CodeExtension code;  // of a bundle the node has, or has not
      code.function = static_cast<std::uint32_t>(random.below(10));
      code.bundle = random.chance(0.5) ? fleet.bundle(0).id() : ContentId::of(body);
      std::memcpy(body.data(), &code, sizeof code);
      header.kind = wire::Kind::call;
      header.extension_size = sizeof code;
    }
    hostile.send(header, body);
    if (i % 50 == 0) fleet.world().run_for(std::chrono::milliseconds(2));
  }
  fleet.world().run_for(seconds(5));
  EXPECT_TRUE(hostile.up);
  EXPECT_GT(hostile.answers, 0U) << "some of it was refused in words";

  Record& after = fleet.call(fleet.client_process(0), fleet.node(0), 0, work, 0, seconds(10));
  ASSERT_TRUE(fleet.world().run_until([&] { return after.ended == 1; }, seconds(10)));
  EXPECT_EQ(after.outcome.ending, Ending::ok);
}

}  // namespace
}  // namespace godwit::call::sim
