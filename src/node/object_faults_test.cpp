// Processes that die while they hold objects: what they had is given back, and nobody waits in
// vain.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "node/accomplice_for_test.hpp"
#include "node/object_for_test.hpp"
#include "ref/access/access.hpp"

namespace godwit::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

using Numbers = std::uint64_t[];

class ObjectFaults : public testing::TestWithParam<LocalTransport> {
 protected:
  static Fleet start(std::vector<std::string> node_arguments = {}) {
    LocalOptions options;
    options.transport = GetParam();
    options.node_arguments = std::move(node_arguments);
    // As long as one waits for a home that died while a large object was under way.
    options.client.default_deadline = seconds(5);
    return local(2, std::move(options));
  }
};

TEST_P(ObjectFaults, AKilledBorrowerGivesBackWhatItHad) {
  Accomplice borrower([](Fleet& fleet, std::string& answer) {
    EXPECT_TRUE(eventually([&] { return fleet.find_name("object").has_value(); }));
    const auto ref = good(Ref<Numbers>::parse(fleet, good(fleet.find_name("object"))));
    auto borrowed = good(Borrowed<Numbers>::from(ref));
    answer = std::to_string(borrowed->size());
    return keep(std::move(borrowed));
  });
  Fleet fleet = start();
  auto owned = good(Owned<Numbers>::put(fleet.node(0), numbers(100'000)));
  good(fleet.put_name("object", owned.ref().handle().to_text()));
  ASSERT_EQ(borrower.act_in(fleet), "100000");
  expect_error(owned.borrow_mut(), ErrorCode::borrowed);
  borrower.kill();
  EXPECT_TRUE(eventually([&] { return owned.borrow_mut().has_value(); }, seconds(20)));
  {
    const auto ended = std::move(owned);
  }
  EXPECT_TRUE(eventually([&] { return holds_nothing(fleet, fleet.node(0)); }, seconds(20)));
}

TEST_P(ObjectFaults, WhatAKilledProcessOwnsEnds) {
  Accomplice owner([](Fleet& fleet, std::string& answer) {
    auto owned = good(Owned<Numbers>::put(fleet.node(1), numbers(100'000)));
    answer = owned.ref().handle().to_text();
    return keep(std::move(owned));
  });
  Fleet fleet = start();
  const auto ref = good(Ref<Numbers>::parse(fleet, owner.act_in(fleet)));
  EXPECT_EQ((*ref).size(), 100'000);
  owner.kill();
  EXPECT_TRUE(eventually([&] { return !good(ref.exists()); }, seconds(20)));
  EXPECT_EQ((*ref)[99'999], 100'006) << "a reader keeps what it has";
  ref.forget();
  EXPECT_TRUE(eventually([&] { return holds_nothing(fleet, fleet.node(1)); }, seconds(20)));
}

TEST_P(ObjectFaults, ThePromiseOfAKilledProducerIsBroken) {
  Accomplice producer([](Fleet& fleet, std::string& answer) {
    auto promise = good(Promise<Numbers>::make(fleet.node(1)));
    answer = promise.ref().handle().to_text();
    return keep(std::move(promise));
  });
  Fleet fleet = start();
  const auto ref = good(Ref<Numbers>::parse(fleet, producer.act_in(fleet)));
  std::thread consumer([&] { expect_error(ref.wait(seconds(30)), ErrorCode::node_lost); });
  auto later = ref.wait_later(seconds(30)).then([](const Outcome<Pinned<Numbers>>& found) {
    return found ? ErrorCode::none : found.error().reason;
  });
  const auto waiting = [&] {
    return status_of(fleet, fleet.node(1))["calls"]["waiting"].count() == 2;
  };
  EXPECT_TRUE(eventually(waiting));
  // Nothing is asked of the home from here on: its own clock has to see to it.
  const auto quiet_from = steady_clock::now() + milliseconds(200);
  EXPECT_TRUE(eventually([&] { return steady_clock::now() >= quiet_from; }));
  producer.kill();
  const auto killed = steady_clock::now();
  consumer.join();
  EXPECT_EQ(to_string(value_of(later.get())), to_string(ErrorCode::node_lost));
  EXPECT_LT(steady_clock::now() - killed, seconds(6)) << "the link broke: 2 s, not the lease of 10";
  EXPECT_TRUE(eventually([&] { return holds_nothing(fleet, fleet.node(1)); }, seconds(20)));
}

TEST_P(ObjectFaults, MemoryThatAKilledWriterReservedIsFreeAgain) {
  constexpr std::uint64_t kMost = std::uint64_t{40} << 20;
  Accomplice writer([](Fleet& fleet, std::string& answer) {
    wire::ObjectItem item;
    item.handle.size = kMost;
    const auto reserved = ref::ask_one(fleet.objects().asking(), NodeId{fleet.node(0).id()},
                                       wire::ObjectOp::reserve, item);
    answer = reserved ? "reserved" : reserved.error().message;
    return std::shared_ptr<void>();
  });
  Fleet fleet = start({"--object-budget-mb=64"});
  ASSERT_EQ(writer.act_in(fleet), "reserved");
  const auto values = numbers(kMost / 8);
  expect_error(fleet.node(0).put(values), ErrorCode::resource_exhausted, "budget");
  writer.kill();
  EXPECT_TRUE(eventually([&] { return holds_nothing(fleet, fleet.node(0)); }, seconds(20)));
  EXPECT_TRUE(fleet.node(0).put(values));
}

// Whatever moment it dies at: the whole object or an error, in time.
TEST_P(ObjectFaults, AHomeThatIsKilledWhileItIsReadIsAnErrorOrTheWholeObject) {
  Fleet fleet = start();
  const auto values = numbers(std::size_t{4} << 20);
  for (int round = 0; round < 3; ++round) {
    const NodeHandle home = good(fleet.find("n1"));
    const auto ref = good(home.put(values));
    std::atomic<bool> begun = false;
    std::thread reader([&] {
      begun = true;
      const auto found = ref.resolve();
      if (found) {
        EXPECT_TRUE(std::equal((*found)->begin(), (*found)->end(), values.begin(), values.end()));
      } else {
        EXPECT_TRUE(found.error().code == ErrorCode::node_lost ||
                    found.error().code == ErrorCode::unreachable)
            << found.error().message;
      }
    });
    EXPECT_TRUE(eventually([&] { return begun.load(); }));
    // At once, when the home has heard of the reader, and a little later.
    const auto other = good(Ref<Numbers>::from(fleet, ref.handle()));
    for (int look = 0; look < round; ++look) {
      EXPECT_TRUE(eventually([&] { return good(other.status()).reads > 0; }));
    }
    good(fleet.kill(home));
    reader.join();
    good(fleet.restart(home));
  }
}

INSTANTIATE_TEST_SUITE_P(Fleets, ObjectFaults,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
