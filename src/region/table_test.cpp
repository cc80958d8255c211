#include "region/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/folder_for_test.hpp"
#include "region/region_for_test.hpp"
#include "trace/json.hpp"

namespace godwit::region {
namespace {

using wire::RegionDescriptor;
using wire::RegionState;

RegionDescriptor next(RegionDescriptor region) {
  ++region.version;
  return region;
}
RegionDescriptor dropped(RegionDescriptor region) {
  region.state = RegionState::dropped;
  return next(std::move(region));
}

class RegionTableTest : public testing::Test {
 protected:
  // Fails the test unless it was refused with that code; returns what was said.
  static std::string refused(const Status& status, ErrorCode code) {
    if (status) {
      ADD_FAILURE() << "was not refused";
      return "";
    }
    EXPECT_EQ(status.error().code, code) << status.error().message;
    return status.error().message;
  }
  static Status failure_of(const Result<call::Regions::Pin>& pin) {
    return pin ? Status() : Status(tl::unexpected(pin.error()));
  }
  Result<call::Regions::Pin> view(std::string_view type = "u64",
                                  std::uint32_t rights = GODWIT_REGION_READ) {
    view_ = {};
    return table_.view(77, type, rights, view_);
  }
  static fleet::NodeList nodes(std::vector<fleet::NodeRecord> records) {
    return std::make_shared<const std::vector<fleet::NodeRecord>>(std::move(records));
  }

  ShardStore store_{{.budget_bytes = 64 * fabric::kPageSize}};
  RegionTable table_{{kSelf, kNow, "n1"}, &store_};
  RegionDescriptor list_ = list_over({kSelf, kOther}, 100, 1000);
  godwit_region_v1 view_{};
};

TEST_F(RegionTableTest, ShowsMobileCodeItsShardAndTheOthersHomes) {
  ASSERT_TRUE(table_.apply(list_));
  EXPECT_EQ(table_.find("list").value(), 77U);
  const auto pin = view();
  ASSERT_TRUE(pin) << pin.error().message;
  EXPECT_EQ(view_.element_size, 8U);
  EXPECT_EQ(view_.elements, 100U);
  EXPECT_EQ(view_.map.capacity, 1000U);
  EXPECT_EQ(view_.shard, 0U);
  EXPECT_EQ(view_.nodes[0], kSelf.value);
  EXPECT_EQ(view_.nodes[1], kOther.value);
  EXPECT_EQ(view_.rights, GODWIT_REGION_READ | GODWIT_REGION_WRITE);
  EXPECT_EQ(view_.data_elements, 100U);
  static_cast<std::uint64_t*>(view_.data)[99] = 7;
}

TEST_F(RegionTableTest, RefusesViewsThatDoNotFitTheRegion) {
  EXPECT_NE(refused(failure_of(view()), ErrorCode::not_found).find("000000000000004d"),
            std::string::npos);
  EXPECT_EQ(table_.find("list").error().code, ErrorCode::not_found);
  ASSERT_TRUE(table_.apply(list_));
  EXPECT_EQ(refused(failure_of(view("f64")), ErrorCode::type_mismatch),
            "the elements of region 'list' are u64, not f64");
  EXPECT_TRUE(view(""));
  static_cast<void>(refused(failure_of(view("u64", 4)), ErrorCode::permission));
}

TEST_F(RegionTableTest, GrowsInPlaceAndOldViewsStayAsTheyWere) {
  ASSERT_TRUE(table_.apply(list_));
  const auto old_pin = view();
  const godwit_region_v1 old_view = view_;
  list_ = next(list_);
  list_.elements = 900;
  ASSERT_TRUE(table_.apply(list_));
  const auto pin = view();
  ASSERT_TRUE(pin);
  EXPECT_EQ(view_.data, old_view.data);
  EXPECT_EQ(view_.elements, 900U);
  EXPECT_EQ(view_.data_elements, 500U);
  EXPECT_EQ(old_view.elements, 100U);
  EXPECT_EQ(old_view.nodes[1], kOther.value);
}

TEST_F(RegionTableTest, OlderAndRepeatedNewsChangesNothing) {
  ASSERT_TRUE(table_.apply(list_));
  RegionDescriptor grown = next(list_);
  grown.elements = 200;
  ASSERT_TRUE(table_.apply(grown));
  EXPECT_TRUE(table_.apply(list_)) << "old";
  EXPECT_TRUE(table_.apply(grown)) << "the same";
  EXPECT_EQ(table_.region(77).value()->descriptor.elements, 200U);
}

TEST_F(RegionTableTest, ChangesMadeAtTheSameTimeEndTheSameInEitherOrder) {
  RegionDescriptor grown = next(list_);
  grown.elements = 300;
  RegionDescriptor sealed = next(list_);
  sealed.state = RegionState::sealed;
  for (const bool grows_first : {true, false}) {
    RegionTable table({kSelf, kNow, "n1"}, &store_);
    ASSERT_TRUE(table.apply(list_));
    ASSERT_TRUE(table.apply(grows_first ? grown : sealed));
    ASSERT_TRUE(table.apply(grows_first ? sealed : grown));
    const RegionDescriptor& now = table.region(77).value()->descriptor;
    EXPECT_EQ(now.elements, 300U);
    EXPECT_EQ(now.state, RegionState::sealed);
    EXPECT_EQ(now.version, 2U);
  }
}

TEST_F(RegionTableTest, RefusesChangesOfWhatIsFixed) {
  ASSERT_TRUE(table_.apply(list_));
  const auto refuses = [&](void (*change)(RegionDescriptor&)) {
    RegionDescriptor changed = next(list_);
    change(changed);
    static_cast<void>(refused(table_.apply(changed), ErrorCode::invalid_argument));
  };
  refuses([](RegionDescriptor& r) { r.type = "i64"; });
  refuses([](RegionDescriptor& r) { r.type = "u32", r.element_size = 4; });
  refuses([](RegionDescriptor& r) { r.map.chunk = 1; });
  refuses([](RegionDescriptor& r) { r.shards[1].epoch = Epoch{21}; });
  refuses([](RegionDescriptor& r) { r.name = "other"; });
  refuses([](RegionDescriptor& r) { r.type = "str"; });
  refuses([](RegionDescriptor& r) { r.type = "u32"; });
  refuses([](RegionDescriptor& r) { r.type = "nonsense"; });
  static_cast<void>(refused(table_.apply(bytes_of("garbage")), ErrorCode::bad_format));
}

TEST_F(RegionTableTest, ASealedRegionCanBeReadOnly) {
  ASSERT_TRUE(table_.apply(list_));
  RegionDescriptor sealed = next(list_);
  sealed.state = RegionState::sealed;
  ASSERT_TRUE(table_.apply(sealed));
  EXPECT_TRUE(view());
  EXPECT_EQ(view_.rights, GODWIT_REGION_READ);
  EXPECT_NE(refused(failure_of(view("u64", GODWIT_REGION_WRITE)), ErrorCode::permission)
                .find("'list' is sealed"),
            std::string::npos);
  RegionDescriptor live = next(sealed);
  live.state = RegionState::live;
  EXPECT_TRUE(table_.apply(live));
  EXPECT_EQ(table_.region(77).value()->descriptor.state, RegionState::sealed) << "for good";
}

TEST_F(RegionTableTest, MemoryOfADroppedRegionLivesAsLongAsAViewOfIt) {
  ASSERT_TRUE(table_.apply(list_));
  auto pin = view();
  ASSERT_TRUE(pin);
  ASSERT_TRUE(table_.apply(dropped(list_)));
  EXPECT_EQ(refused(failure_of(table_.view(77, "", 0, view_)), ErrorCode::not_found),
            "region 'list' was dropped");
  EXPECT_EQ(table_.find("list").error().code, ErrorCode::not_found);
  EXPECT_EQ(store_.budget().used_bytes(), fabric::kPageSize);
  static_cast<std::uint64_t*>(view_.data)[50] = 1;
  pin->reset();
  EXPECT_EQ(store_.budget().used_bytes(), 0U);
  EXPECT_TRUE(table_.apply(next(list_)));
  EXPECT_EQ(table_.find("list").error().code, ErrorCode::not_found) << "for good";
}

TEST_F(RegionTableTest, ANameIsTakenUntilItsRegionIsDropped) {
  ASSERT_TRUE(table_.apply(list_));
  const RegionDescriptor second = list_over({kSelf}, 5, 5, 78);
  EXPECT_NE(refused(table_.apply(second), ErrorCode::already_exists).find("'list'"),
            std::string::npos);
  EXPECT_TRUE(table_.apply(dropped(second))) << "an attempt is taken back";
  EXPECT_EQ(table_.find("list").value(), 77U);
  ASSERT_TRUE(table_.apply(dropped(list_)));
  const RegionDescriptor third = list_over({kSelf}, 5, 5, 79);
  ASSERT_TRUE(table_.apply(third));
  EXPECT_EQ(table_.find("list").value(), 79U);
  EXPECT_TRUE(table_.hear(bytes_of(encode(list_)))) << "old news";
  EXPECT_EQ(table_.find("list").value(), 79U);
}

TEST_F(RegionTableTest, TheDirectoryHasTheLastWordOnANameButBothLive) {
  ASSERT_TRUE(table_.apply(list_));
  const RegionDescriptor rival = list_over({kOther}, 5, 5, 78);
  ASSERT_TRUE(table_.hear(bytes_of(encode(rival))));
  EXPECT_EQ(table_.find("list").value(), 78U);
  EXPECT_TRUE(view()) << "by its id";
}

TEST_F(RegionTableTest, AnErasedNameDropsWhatTheDirectorySaidUnderIt) {
  ASSERT_TRUE(table_.apply(list_));
  EXPECT_TRUE(table_.hear_erased("list")) << "of another time: the directory has not had it";
  EXPECT_EQ(table_.find("list").value(), 77U);
  ASSERT_TRUE(table_.hear(bytes_of(encode(list_))));
  ASSERT_TRUE(table_.hear_erased("list"));
  ASSERT_TRUE(table_.hear(bytes_of(encode(list_))));
  ASSERT_TRUE(table_.hear_erased("list")) << "once more";
  EXPECT_EQ(table_.find("list").error().message, "region 'list' was dropped");
  EXPECT_EQ(store_.budget().used_bytes(), 0U);
  const RegionDescriptor second = list_over({kSelf}, 5, 5, 78);
  ASSERT_TRUE(table_.apply(second));
  EXPECT_TRUE(table_.hear_erased("list"));
  EXPECT_EQ(table_.find("list").value(), 78U);
}

TEST_F(RegionTableTest, AFailedChangeLeavesEverythingAsItWas) {
  RegionDescriptor large = list_over({kSelf}, 10, 100'000);
  ASSERT_TRUE(table_.apply(large));
  large = next(large);
  large.elements = 100'000;
  EXPECT_NE(refused(table_.apply(large), ErrorCode::resource_exhausted).find("'list'"),
            std::string::npos);
  ASSERT_TRUE(view());
  EXPECT_EQ(view_.elements, 10U);
  EXPECT_EQ(store_.budget().used_bytes(), fabric::kPageSize);
}

TEST_F(RegionTableTest, AShardOfAnEarlierLifeIsLostAndNeverZeros) {
  list_.shards[0].epoch = Epoch{19};
  ASSERT_TRUE(table_.hear(bytes_of(encode(list_))));
  EXPECT_EQ(refused(failure_of(view()), ErrorCode::node_lost),
            "shard 0 of region 'list' was lost when node n1 ended");
  EXPECT_EQ(store_.budget().used_bytes(), 0U);
  EXPECT_EQ(table_.region(77).value()->nodes[0], 0U);
}

TEST_F(RegionTableTest, AFileOfAnEarlierLifeThatIsGoneIsALostShardOfARegionThatLivesOn) {
  const TestFolder folder;
  ShardStore store({.directory = folder.path()});
  RegionTable table({kSelf, kNow, "n1"}, &store);
  list_.in_files = true;
  list_.shards[0].epoch = Epoch{19};
  ASSERT_TRUE(table.hear(bytes_of(encode(list_))));
  EXPECT_EQ(table.region(77).value()->nodes, (std::vector<std::uint64_t>{0, kOther.value}));
  const auto seen = table.view(77, "u64", GODWIT_REGION_READ, view_);
  EXPECT_THAT(refused(failure_of(seen), ErrorCode::node_lost),
              testing::AllOf(testing::HasSubstr("shard 0 of region 'list' is lost"),
                             testing::HasSubstr("list.0 is gone")));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "zeros would look like data";
  table.set_nodes(nodes({}));
  EXPECT_EQ(table.region(77).value()->nodes[0], 0U);
  trace::Json status;
  status.open('{');
  table.write_status(status);
  EXPECT_THAT(status.text(), testing::HasSubstr("list.0 is gone"));
  EXPECT_TRUE(table.apply(dropped(list_)));
}

TEST_F(RegionTableTest, AnUndoneCreationLeavesFilesThatWereThereBefore) {
  const TestFolder folder;
  ShardStore store({.directory = folder.path()});
  list_.in_files = true;
  const auto first_word = [](RegionTable& table, std::uint64_t id) {
    return reinterpret_cast<std::uint64_t*>(table.region(id).value()->shard->data());
  };
  RegionDescriptor undone = dropped(list_);
  undone.undone = true;
  {
    RegionTable table({kSelf, kNow, "n1"}, &store);
    ASSERT_TRUE(table.apply(list_));
    ASSERT_TRUE(table.apply(undone));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "there was none before";
    list_.id = 78;
    ASSERT_TRUE(table.apply(list_));
    *first_word(table, 78) = 5;
  }
  RegionTable table({kSelf, kNow, "n1"}, &store);
  list_.id = undone.id = 79;
  ASSERT_TRUE(table.apply(list_));
  ASSERT_TRUE(table.apply(undone));
  list_.id = 80;
  ASSERT_TRUE(table.apply(list_));
  EXPECT_EQ(*first_word(table, 80), 5U);
}

TEST_F(RegionTableTest, ShardsOfNodesThatEndedHaveNoOwner) {
  ASSERT_TRUE(table_.apply(list_));
  const auto owner = [&] { return table_.region(77).value()->nodes[1]; };
  EXPECT_EQ(owner(), kOther.value) << "a node we have not heard of yet";
  table_.set_nodes(nodes({{.id = kOther, .epoch = Epoch{19}}}));
  EXPECT_EQ(owner(), kOther.value) << "news of an earlier life";
  table_.set_nodes(nodes({{.id = kOther, .epoch = kNow}}));
  EXPECT_EQ(owner(), kOther.value);
  table_.set_nodes(nodes({{.id = kOther, .epoch = kNow, .state = fleet::NodeState::lost}}));
  EXPECT_EQ(owner(), 0U);
  table_.set_nodes(nodes({{.id = kOther, .epoch = kNow}}));
  EXPECT_EQ(owner(), kOther.value) << "it contradicts";
  table_.set_nodes(nodes({{.id = kOther, .epoch = Epoch{21}}}));
  EXPECT_EQ(owner(), 0U) << "it ended, and started anew";
  ASSERT_TRUE(view());
  EXPECT_EQ(view_.nodes[1], 0U);
  EXPECT_EQ(view_.data_elements, 100U) << "this node's own is still there";
}

TEST_F(RegionTableTest, WithoutAShardThereIsAViewWithoutData) {
  ASSERT_TRUE(table_.hear(bytes_of(encode(list_over({kOther}, 10)))));
  ASSERT_TRUE(view());
  EXPECT_EQ(view_.shard, GODWIT_NO_SHARD);
  EXPECT_EQ(view_.data, nullptr);
  EXPECT_EQ(view_.data_elements, 0U);
  EXPECT_EQ(view_.nodes[0], kOther.value);
}

TEST_F(RegionTableTest, ViewsAreWholeWhileOthersChangeTheTable) {
  constexpr std::uint64_t kGenerations = 40;
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> seen{0};
  const auto read = [&] {
    while (!done.load()) {
      const auto id = table_.find("list");
      if (!id) continue;
      godwit_region_v1 view{};
      const auto pin = table_.view(*id, "u64", GODWIT_REGION_READ, view);
      if (!pin) continue;  // dropped between the two
      EXPECT_EQ(view.id, *id);
      EXPECT_EQ(view.data_elements, std::min<std::uint64_t>(view.elements, 500));
      auto* last = static_cast<std::uint64_t*>(view.data) + view.data_elements - 1;
      std::atomic_ref<std::uint64_t>(*last).fetch_add(1);
      EXPECT_TRUE(view.nodes[1] == kOther.value || view.nodes[1] == 0);
      seen.fetch_add(1);
    }
  };
  std::thread readers[2] = {std::thread(read), std::thread(read)};
  for (std::uint64_t id = 1; id <= kGenerations; ++id) {
    RegionDescriptor region = list_over({kSelf, kOther}, 10, 1000, id);
    EXPECT_TRUE(table_.apply(region));
    const std::uint64_t before = seen.load();
    for (region.elements = 20; region.elements <= 1000; region.elements += 70) {
      EXPECT_TRUE(table_.apply(next(region)));
      table_.set_nodes(nodes({{.id = kOther, .epoch = Epoch{kNow.value + region.elements % 2}}}));
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (seen.load() == before && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
    EXPECT_NE(seen.load(), before);
    region.elements = 10;
    EXPECT_TRUE(table_.apply(dropped(region)));
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(store_.budget().used_bytes(), 0U);
}

TEST_F(RegionTableTest, RemembersABoundedNumberOfRegions) {
  RegionTable table({kSelf, kNow, "n1"}, nullptr);
  RegionDescriptor region = list_over({kOther}, 1);
  for (std::uint64_t i = 1; i <= RegionTable::kMaxDropped + 10; ++i) {
    region.id = i;
    region.name = "r" + std::to_string(i);
    ASSERT_TRUE(table.apply(region));
    ASSERT_TRUE(table.apply(dropped(region)));
  }
  EXPECT_NE(table.find("r11").error().message.find("was dropped"), std::string::npos);
  EXPECT_NE(table.find("r10").error().message.find("no region is called"), std::string::npos);
  for (std::uint64_t i = 0; i < RegionTable::kMaxRegions; ++i) {
    region.id = 10'000 + i;
    region.name = "live" + std::to_string(i);
    ASSERT_TRUE(table.apply(region));
  }
  region.id = 9'999;
  region.name = "one-more";
  static_cast<void>(refused(table.apply(region), ErrorCode::resource_exhausted));
}

TEST_F(RegionTableTest, TellsOperatorsWhatThereIs) {
  ASSERT_TRUE(table_.apply(list_));
  trace::Json out;
  out.open('{');
  table_.write_status(out);
  const std::string text = out.close('}').text();
  EXPECT_NE(text.find("\"name\": \"list\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"shard_bytes\": 800"), std::string::npos) << text;
  EXPECT_NE(text.find("\"memory_bytes\": 4096"), std::string::npos) << text;
  EXPECT_NE(text.find("\"shards_lost\": 0"), std::string::npos) << text;
}

}  // namespace
}  // namespace godwit::region
