// Objects and items that are written where they will lie, in whole fleets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/folder_for_test.hpp"
#include "godwit/draft.hpp"
#include "godwit/stream.hpp"
#include "node/accomplice_for_test.hpp"
#include "node/object_for_test.hpp"
#include "node/stream_fleet_for_test.hpp"

namespace godwit::node {
namespace {

using std::chrono::seconds;

using Numbers = std::uint64_t[];
constexpr std::size_t kMany = 300'000;

template <class Draft>
void fill(const Draft& draft) {
  const auto elements = *draft;
  std::iota(elements.begin(), elements.end(), std::uint64_t{7});
}

class Drafts : public ObjectFleet {
 protected:
  Draft<Numbers> draft(std::size_t count, std::size_t node = 1) {
    auto made = good(Draft<Numbers>::make(fleet_.node(node), count));
    EXPECT_EQ((*made).size(), count);
    fill(made);
    return made;
  }
  [[nodiscard]] std::uint64_t used(std::size_t node) const {
    return status_of(fleet_, fleet_.node(node))["objects"]["used_bytes"].count();
  }
  void expect_nothing_left(std::size_t node) {
    EXPECT_TRUE(eventually([&] { return holds_nothing(fleet_, fleet_.node(node)); }, seconds(20)));
  }
};

TEST_P(Drafts, BecomeObjectsThatOthersRead) {
  auto other = good(Fleet::join(fleet_.describe().front().addresses.front()));
  for (const std::size_t count : {0, 1, 2'048, 2'049, 300'000}) {
    auto made = draft(count);
    EXPECT_EQ(made.in_place(), shm() && count * 8 > (16 << 10)) << count;
    const auto ref = good(made.publish());
    EXPECT_TRUE((*made).empty());
    EXPECT_FALSE(made.in_place());
    EXPECT_EQ(ref.home(), fleet_.node(1).id());
    const auto there = good(Ref<Numbers>::parse(other, ref.handle().to_text()));
    EXPECT_TRUE(std::ranges::equal(*there, numbers(count))) << count;
    expect_error(made.publish(), ErrorCode::invalid_argument, "has nothing");
    there.forget();
    good(ref.evict());
  }
  expect_nothing_left(1);
}

TEST_P(Drafts, InPlaceTheMemoryIsTheObjectsOwn) {
  auto made = draft(kMany);
  EXPECT_EQ(used(1) >= kMany * 8, shm()) << "elsewhere the home has nothing before it is published";
  const auto ref = good(made.publish());
  EXPECT_GE(used(1), kMany * 8);
  EXPECT_LT(used(1), kMany * 8 * 3 / 2) << "there is no second copy";
  EXPECT_TRUE(std::ranges::equal(*ref, numbers(kMany)));
}

TEST_P(Drafts, OnesThatAreGivenUpLeaveNothing) {
  {
    auto made = draft(kMany);
    const auto moved = std::move(made);
    EXPECT_TRUE((*made).empty());
    EXPECT_EQ((*moved).size(), kMany);
  }
  expect_nothing_left(1);
}

TEST_P(Drafts, StayWhenTheyCannotBePublishedAsWanted) {
  auto made = draft(kMany);
  expect_error(made.publish({.persist = true}), ErrorCode::unsupported, "object_dir");
  expect_error(made.publish({.channel = "nowhere"}), ErrorCode::not_found, "nowhere");
  expect_error(made.publish({.lifetime = Lifetime::lease(-seconds(1))}),
               ErrorCode::invalid_argument);
  const auto ref = good(made.publish({.lifetime = Lifetime::readers(1)}));
  {
    const auto found = good(ref.resolve());
    EXPECT_TRUE(std::ranges::equal(*found, numbers(kMany)));
    ref.forget();
  }
  expect_nothing_left(1);
}

TEST_P(Drafts, HaveOwnersVersionsAndPromises) {
  auto owned = good(draft(10'000).publish_owned());
  good(draft(20'000).update(owned));
  EXPECT_EQ((*owned).size(), 20'000);
  {
    auto writer = good(owned.borrow_mut());
    expect_error(draft(5'000).update(owned), ErrorCode::borrowed);
    good(draft(30'000).update(writer));
    EXPECT_TRUE(std::ranges::equal(*writer, numbers(30'000)));
  }
  EXPECT_EQ((*owned).size(), 30'000);
  const auto next = good(draft(40'000).update(owned.ref()));
  EXPECT_EQ((*next).size(), 40'000);

  auto promise = good(Promise<Numbers>::make(fleet_.node(1)));
  const auto promised = promise.ref();
  auto made = draft(kMany);
  const auto kept = good(made.fulfil(promise));
  EXPECT_EQ((*good(promised.wait(seconds(10)))).size(), kMany);
  auto late = draft(10'000);
  expect_error(late.fulfil(promise), ErrorCode::already_exists);
  expect_error(late.update(promised.restrict_to(Rights::read).value()), ErrorCode::permission);
  EXPECT_EQ((*late).size(), 10'000) << "it is still there";
}

TEST_P(Drafts, OfAnotherHomeAreSentToTheObjects) {
  const auto first = good(fleet_.node(0).put(numbers(3)));
  const auto next = good(draft(kMany, 1).update(first));
  EXPECT_EQ(next.home(), fleet_.node(0).id());
  EXPECT_TRUE(std::ranges::equal(*next, numbers(kMany)));
  expect_nothing_left(1);
}

TEST_P(Drafts, ThreadsMayWriteOneTogether) {
  auto made = good(Draft<Numbers>::make(fleet_.node(1), kMany));
  const auto all = *made;
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < 3; ++part) {
    threads.emplace_back([=] {
      for (std::size_t i = part; i < kMany; i += 3) all[i] = i + 7;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(std::ranges::equal(*good(made.publish()), numbers(kMany)));
}

TEST_P(Drafts, ThatNobodyHasRoomForAreRefused) {
  constexpr std::uint64_t kTooMany = std::uint64_t{1} << 43;  // 64 TiB
  expect_error(Draft<Numbers>::make(fleet_.node(1), kTooMany), ErrorCode::resource_exhausted);
  expect_error(Draft<Numbers>::make(fleet_.node(1), UINT64_MAX / 2), ErrorCode::invalid_argument);
  expect_nothing_left(1);
}

INSTANTIATE_TEST_SUITE_P(Fleets, Drafts, testing::Values(LocalTransport::shm, LocalTransport::tcp),
                         transport_name);

TEST(DraftFaults, MemoryOfAKilledWriterIsFreeAgain) {
  Accomplice writer([](Fleet& fleet, std::string& answer) {
    auto made = good(Draft<Numbers>::make(fleet.node(0), kMany));
    fill(made);
    answer = made.in_place() ? "in place" : "here";
    return keep(std::move(made));
  });
  Fleet fleet = local(1);
  ASSERT_EQ(writer.act_in(fleet), "in place");
  EXPECT_FALSE(holds_nothing(fleet, fleet.node(0)));
  writer.kill();
  EXPECT_TRUE(eventually([&] { return holds_nothing(fleet, fleet.node(0)); }, seconds(20)));
}

TEST(DraftFaults, AHomeThatStartedAnewKnowsNothingOfThem) {
  Fleet fleet = local(1);
  auto made = good(Draft<Numbers>::make(fleet.node(0), kMany));
  ASSERT_TRUE(made.in_place());
  const NodeHandle home = fleet.node(0);
  good(fleet.kill(home));
  fill(made);  // memory of a dead process: it stays as long as it is mapped
  good(fleet.restart(home));
  // Its ticket is of another life: it leads to nothing of this one, whatever is done with it.
  auto again = good(Draft<Numbers>::make(home, kMany));
  expect_error(made.publish(), ErrorCode::not_found, "reserve anew");
  std::ranges::copy(*made, (*again).begin());
  made = good(Draft<Numbers>::make(home, 50'000));
  fill(made);
  EXPECT_TRUE(std::ranges::equal(*good(again.publish()), numbers(kMany)));
  EXPECT_TRUE(std::ranges::equal(*good(made.publish()), numbers(50'000)));
}

TEST(DraftFaults, OneThatIsToPersistIsThereAfterItsHomeWasKilled) {
  const TestFolder folder;
  Fleet fleet =
      local(1, {.node_arguments = {"--object-dir=" + (folder / "objects").string(), "--jit=off"}});
  auto made = good(Draft<Numbers>::make(fleet.node(0), kMany));
  fill(made);
  const auto ref = good(made.publish({.persist = true}));
  const NodeHandle home = fleet.node(0);
  good(fleet.kill(home));
  good(fleet.restart(home));
  EXPECT_TRUE(std::ranges::equal(*ref, numbers(kMany)));
}

TEST(DraftFaults, AChannelGetsACopy) {
  const TestFolder folder;
  const std::string place = "store file:" + (folder / "store").string();
  LocalOptions options{.node_arguments = {"--channel=" + place}};
  options.client.channels = {{.name = "store", .url = "file:" + (folder / "store").string()}};
  Fleet fleet = local(1, std::move(options));
  auto made = good(Draft<Numbers>::make(fleet.node(0), kMany));
  EXPECT_TRUE(made.in_place());
  fill(made);
  const auto ref = good(made.publish({.channel = "store"}));
  EXPECT_TRUE(good(ref.status()).elsewhere);
  EXPECT_TRUE(std::ranges::equal(*ref, numbers(kMany)));
  auto next = good(Draft<Numbers>::make(fleet.node(0), 50'000));
  fill(next);
  EXPECT_EQ((*good(next.update(ref))).size(), 50'000);
}

class StreamDrafts : public StreamFleet {};

TEST_P(StreamDrafts, ArriveInOrderAmongOthersWithTheirKeys) {
  auto out = producer<Numbers>();
  auto in = consumer<Numbers>();
  constexpr std::size_t kSizes[] = {0, 3, 100, 40'000, 5, 1, 300'000, 40'001, 2};
  const bool mapped = GetParam() == Kept::node_shm;
  for (const std::size_t size : kSizes) {
    const std::string key = "key/" + std::to_string(size);
    good(out.send(numbers(size), "sent"));
    auto item = good(out.draft(size, key));
    EXPECT_EQ(item.in_place(), mapped && size >= 40'000) << size;
    fill(item);
    good(out.send(item));
    EXPECT_TRUE((*item).empty());
    expect_error(out.send(item), ErrorCode::invalid_argument, "has nothing");
  }
  good(out.close());
  for (const std::size_t size : kSizes) {
    for (const std::string& key : {std::string("sent"), "key/" + std::to_string(size)}) {
      const auto item = good(in.next(seconds(10)));
      ASSERT_TRUE(item);
      EXPECT_EQ(item->key(), key);
      EXPECT_TRUE(std::ranges::equal(**item, numbers(size))) << size;
      item->ack();
    }
  }
  EXPECT_FALSE(good(in.next(seconds(10))));
  expect_kept(0);
}

TEST_P(StreamDrafts, OfAnotherProducerAreRefusedAndOnesGivenUpLeaveNothing) {
  auto out = producer<Numbers>();
  {
    auto other = good(Producer<Numbers>::open(home(), "another"));
    auto item = good(other.draft(100'000));
    expect_error(out.send(item), ErrorCode::invalid_argument, "another producer");
    EXPECT_EQ((*item).size(), 100'000);
    expect_error(out.draft(1, std::string(5'000, 'k')), ErrorCode::too_large);
    expect_error(out.draft(std::uint64_t{1} << 40), ErrorCode::too_large, "its handle");
  }
  good(remove_topic(home(), "another"));
  good(out.close());
  auto late = good(out.draft(100'000));
  expect_error(out.send(late), ErrorCode::shutting_down);
  {
    const auto gone = std::move(late);
  }
  EXPECT_TRUE(eventually([&] { return holds_nothing(fleet_, fleet_.node(0)); }, seconds(20)));
}

TEST_P(StreamDrafts, ForAFullTopicAreKeptAndSentLater) {
  auto out = producer<Numbers>(
      {.topic = TopicOptions{.max_bytes = 1 << 20}, .patience = std::chrono::milliseconds(50)});
  auto in = consumer<Numbers>();
  auto first = good(out.draft(100'000));
  fill(first);
  good(out.send(first));
  auto second = good(out.draft(100'001));
  fill(second);
  expect_error(out.send(second), ErrorCode::deadline, "had no room");
  EXPECT_EQ((*second).size(), 100'001);
  good(in.next(seconds(10)))->ack();  // and let go of, so that the home hears of it
  Status sent;
  EXPECT_TRUE(eventually([&] { return (sent = out.send(second)).has_value(); }))
      << sent.error().message;
  {
    const auto item = good(in.next(seconds(10)));
    EXPECT_TRUE(std::ranges::equal(**item, numbers(100'001)));
    item->ack();
  }
  expect_kept(0);
  EXPECT_EQ(status().end, 2) << "each is there once";
}

TEST_P(StreamDrafts, SmallOnesThatWereTakenAreNotSentTwice) {
  auto out = producer<Numbers>({.topic = TopicOptions{.max_bytes = 1 << 20},
                                .linger = std::chrono::nanoseconds(0),
                                .patience = std::chrono::milliseconds(50)});
  auto in = consumer<Numbers>();
  good(out.send(numbers(130'000)));
  auto small = good(out.draft(1'500));
  fill(small);
  expect_error(out.send(small), ErrorCode::deadline, "had no room");
  EXPECT_TRUE((*small).empty());
  // Not even one that goes alone overtakes it.
  auto large = good(out.draft(40'000));
  fill(large);
  expect_error(out.send(large), ErrorCode::overload, "not taken");
  EXPECT_EQ((*large).size(), 40'000);
  good(in.next(seconds(10)))->ack();
  EXPECT_TRUE(eventually([&] { return out.send(large).has_value(); }));
  for (const std::size_t size : {1'500, 40'000}) {
    const auto item = good(in.next(seconds(10)));
    EXPECT_TRUE(std::ranges::equal(**item, numbers(size))) << size;
    item->ack();
  }
  EXPECT_EQ(status().end, 3);
}

TEST_P(StreamDrafts, MayOutliveTheirProducerAndFitTheirTopic) {
  auto first = producer<Numbers>({.topic = TopicOptions{.max_bytes = 1 << 20}});
  expect_error(first.draft(200'000), ErrorCode::too_large, "max_bytes");
  auto item = good(first.draft(100'000));
  {
    const auto ended = std::move(first);
  }
  fill(item);
  auto second = producer<Numbers>();
  expect_error(second.send(item), ErrorCode::invalid_argument, "another producer");
  {
    const auto gone = std::move(item);
  }
  EXPECT_TRUE(eventually([&] { return holds_nothing(fleet_, fleet_.node(0)); }, seconds(20)));
}

INSTANTIATE_TEST_SUITE_P(Brokers, StreamDrafts, kEveryBroker, broker_name);

}  // namespace
}  // namespace godwit::node
