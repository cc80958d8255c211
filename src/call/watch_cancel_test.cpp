// Which of many waiting calls a cancel ends.
#include <gtest/gtest.h>

#include "base/fail.hpp"
#include "call/raw_peer.hpp"
#include "trace/json_value.hpp"

namespace godwit::call::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One region of one word.
class OneWord final : public Regions {
 public:
  Result<std::uint64_t> find(std::string_view) override {
    return fail(ErrorCode::not_found, "no names here");
  }
  Result<Pin> view(std::uint64_t, std::string_view, std::uint32_t,
                   godwit_region_v1& view) override {
    view.element_size = sizeof word_;
    view.elements = 1;
    view.map = {1, 1, 1, GODWIT_SHARD_IN_ORDER};
    view.data = &word_;
    view.data_elements = 1;
    view.name = "word";
    view.name_size = 4;
    return Pin(std::make_shared<int>(0));
  }
  Status apply(Bytes) override { return {}; }

 private:
  std::uint64_t word_ = 0;
};

// A peer of node 0 has calls there that wait for the word to change.
class WatchCancel : public testing::Test {
 protected:
  WatchCancel() : fleet_(9, reliable(), {}), peer_(fleet_) {
    engine().set_regions(&word_);
    const Record& warm =
        fleet_.call(fleet_.client_process(0), fleet_.node(0), 0, work, 0, seconds(10));
    EXPECT_TRUE(fleet_.world().run_until([&] { return warm.ended == 1 && peer_.up; }, seconds(10)));
  }
  static fabric::sim::Options reliable() {
    fabric::sim::Options options;
    options.later_chance = 0;
    return options;
  }
  Engine& engine() { return *fleet_.at(fleet_.node_process(0))->engine; }

  void watch(std::uint64_t id) {
    wire::CodeExtension code;
    code.bundle = fleet_.bundle(0).id();
    code.function = work;
    wire::ExtensionWriter extension;
    extension.add(code);
    extension.add(wire::ChangeExtension{.element_size = 8, .region = 1});
    std::vector<std::byte> body(extension.view().begin(), extension.view().end());
    body.resize(body.size() + sizeof(Arguments));
    wire::Header header;
    header.kind = wire::Kind::call;
    header.id = id;
    header.aux = 60'000;
    header.extension_size = static_cast<std::uint16_t>(extension.view().size());
    peer_.send(header, body);
    settle();
  }
  void cancel(std::uint64_t id) {
    peer_.send({.kind = wire::Kind::cancel, .id = id}, {});
    settle();
  }
  void settle() { fleet_.world().run_for(milliseconds(5)); }
  std::uint64_t watching() {
    return trace::JsonValue::parse(engine().status()).value()["calls"]["watching"].count();
  }
  // Of the answer that came last.
  Ending ending() const { return wire::unpack_outcome(peer_.last.aux).ending; }
  bool returned_credit_early() const { return (peer_.last.flags & wire::kAnswered) != 0; }

  OneWord word_;
  SimFleet fleet_;
  RawPeer peer_;
};

TEST_F(WatchCancel, EndsExactlyTheOneItNames) {
  constexpr std::uint64_t kCalls = 300;  // more than the credits of the link
  for (std::uint64_t id = 1; id <= kCalls; ++id) watch(id);
  ASSERT_EQ(watching(), kCalls);
  for (std::uint64_t id = 1; id <= kCalls; id += 3) {
    cancel(id);
    EXPECT_EQ(peer_.last.id, id);
    EXPECT_EQ(ending(), Ending::cancelled);
  }
  EXPECT_EQ(watching(), kCalls - kCalls / 3);
  const std::size_t answers = peer_.answers;
  cancel(1);
  cancel(kCalls + 1);
  EXPECT_EQ(peer_.answers, answers) << "there is no such call any more";
}

TEST_F(WatchCancel, LostLinkEndsThemAll) {
  for (std::uint64_t id = 1; id <= 40; ++id) watch(id);
  ASSERT_EQ(watching(), 40U);
  peer_.transport->close(peer_.link);
  fleet_.world().run_for(seconds(1));
  EXPECT_EQ(watching(), 0U);
  EXPECT_EQ(engine().calls_inside(), 0U);
}

TEST_F(WatchCancel, OfTwoWithOneIdTheSecondKeepsItsCredit) {
  watch(7);
  EXPECT_TRUE(returned_credit_early());
  const std::size_t answers = peer_.answers;
  watch(7);
  EXPECT_EQ(peer_.answers, answers);
  EXPECT_EQ(watching(), 2U);
  cancel(7);
  cancel(7);
  EXPECT_EQ(watching(), 0U);
  EXPECT_EQ(engine().calls_inside(), 0U);
}

}  // namespace
}  // namespace godwit::call::sim
