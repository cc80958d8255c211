// Peers that send nonsense: each message is refused or ignored, and the node keeps serving.
#include <gtest/gtest.h>

#include "base/seeds_for_test.hpp"
#include "call/raw_peer.hpp"

namespace godwit::call::sim {
namespace {

using std::chrono::seconds;

TEST(HostilePeer, TenThousandMessagesOfNonsenseDoNotDisturbTheNode) {
  fabric::sim::Options options;
  options.later_chance = 0;
  SimFleet fleet(77, options, {});
  Record& warm = fleet.call(fleet.client_process(0), fleet.node(0), 0, work, 0, seconds(10));
  ASSERT_TRUE(fleet.world().run_until([&] { return warm.ended == 1; }, seconds(10)));

  RawPeer hostile(fleet);
  ASSERT_TRUE(fleet.world().run_until([&] { return hostile.up; }, seconds(5)));
  const Seed seed(5);
  Random random(seed.value());
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

TEST(HostilePeer, OffersOfCodeWithoutEndAreNotAllTakenUp) {
  fabric::sim::Options options;
  options.later_chance = 0;
  SimFleet fleet(78, options, {});
  RawPeer hostile(fleet);
  ASSERT_TRUE(fleet.world().run_until([&] { return hostile.up; }, seconds(5)));
  wire::Header offer;
  offer.kind = wire::Kind::have_code;
  for (int i = 0; i < 5000; ++i) {
    hostile.send(offer, bytes_of_value(ContentId::of(bytes_of_value(i))));
  }
  fleet.world().run_for(seconds(1));
  EXPECT_EQ(hostile.answers, CodeSearch::kMaxQuestions) << "each answer is a question for the code";
  fleet.world().run_for(seconds(65));
  hostile.send(offer, bytes_of_value(ContentId::of(bytes_of("later"))));
  fleet.world().run_for(seconds(1));
  EXPECT_EQ(hostile.answers, CodeSearch::kMaxQuestions + 1)
      << "questions without an answer are forgotten";
}

}  // namespace
}  // namespace godwit::call::sim
