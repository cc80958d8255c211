// Random producers, consumers, deaths and jumps of time, checked against a model.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/sanitizers.hpp"
#include "base/seeds_for_test.hpp"
#include "ref/stream/stream_play_for_test.hpp"

namespace godwit::ref::stream {
namespace {

using namespace std::chrono_literals;

class Verbs : Play {
 public:
  explicit Verbs(std::uint64_t seed) : Play(seed) {
    produce(random_.below(4) == 0 ? ProducerKind::sole : ProducerKind::one_of_many);
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
      if (random_.below(4) == 0) compare();
    }
    if (!testing::Test::HasFailure()) finish();
  }

 private:
  void step() {
    switch (random_.below(calm_ ? 13 : 18)) {
      case 0: return join();
      case 1:
      case 2:
      case 3:
      case 4: return append();
      case 5:
      case 6:
      case 7:
      case 8: return fetch();
      case 9:
      case 10:
      case 11:
      case 12: return ack();
      case 13: return end_lease();
      case 14: return leave_or_move();
      case 15: return produce(ProducerKind::one_of_many);
      default: return live();
    }
  }

  void produce(ProducerKind kind) {
    const Holder holder = someone();
    ErrorCode expected = model_.admit(holder) ? model_.ended : ErrorCode::node_lost;
    for (const auto& [node, other] : model_.producers) {
      const bool sole = kind == ProducerKind::sole || other.second == ProducerKind::sole;
      if (expected == ErrorCode::none && node != holder.node.value && sole) {
        expected = ErrorCode::already_exists;
      }
    }
    ASSERT_EQ(code_of(store_.produce(holder, id_, kind)), expected);
    if (expected == ErrorCode::none) model_.producers[holder.node.value] = {holder, kind};
  }
  Holder some_producer() {
    if (model_.producers.empty() || random_.below(8) == 0) return someone();
    return model_.producers.begin()->second.first;
  }
  void append() {
    const Holder holder = some_producer();
    std::vector<ModelItem> items(1 + random_.below(6));
    static constexpr std::array<const char*, 3> kKeys{"", "k/1", "k/2"};
    std::vector<Item> views;
    for (ModelItem& item : items) {
      item.text =
          std::to_string(model_.items.size() + views.size()) + std::string(random_.below(40), 'x');
      item.metadata = kKeys[random_.below(kKeys.size())];
      views.push_back({bytes_of(item.text), bytes_of(item.metadata)});
    }
    Batch batch = Batch::pack(arena_, views, kWait).value();
    const std::uint64_t size = batch.size();
    const auto known = model_.producers.find(holder.node.value);
    const bool may = known != model_.producers.end() && known->second.first == holder;
    ErrorCode expected = model_.ended;
    if (expected == ErrorCode::none && !may) expected = ErrorCode::permission;
    if (expected == ErrorCode::none && !model_.fits(size)) expected = ErrorCode::would_block;
    if (expected == ErrorCode::would_block && size > options_.max_bytes) {
      expected = ErrorCode::too_large;
    }
    const std::uint64_t waiter = ++waiters_;
    if (expected == ErrorCode::would_block) {
      waiting_[waiter] = {.room = true, .holder = holder, .size = size};
    }
    const auto first = store_.append(holder, id_, batch, {.waiter = waiter});
    ASSERT_EQ(code_of(first), expected) << (first ? "" : first.error().message);
    if (!first) return;
    EXPECT_EQ(*first, model_.items.size());
    model_.append(items, size);
  }

  void join() {
    static constexpr std::array<const char*, 3> kNames{"all", "keys", "some"};
    const std::size_t kind = random_.below(kNames.size());
    GroupOptions options{.lasting = kind != 2};
    if (kind == 1) options.filter.prefix = "k/";
    if (kind == 2) options.filter = {.equals = "k/2", .one_in = 2};
    options.start = {static_cast<Position::Kind>(random_.below(3)),
                     random_.below(model_.items.size() + 2)};
    const Holder holder = someone();
    ErrorCode expected = model_.admit(holder) ? ErrorCode::none : ErrorCode::node_lost;
    std::size_t place = 0;
    while (place < model_.groups.size() &&
           (!model_.groups[place].alive || model_.groups[place].name != kNames[kind])) {
      ++place;
    }
    const bool made = place == model_.groups.size();
    if (expected == ErrorCode::none && made) expected = error_of(options.start);
    const auto group = store_.join(holder, id_, kNames[kind], options);
    ASSERT_EQ(code_of(group), expected) << (group ? "" : group.error().message);
    if (!group) return;
    if (made) {
      model_.groups.push_back({.key = {id_, *group},
                               .name = kNames[kind],
                               .filter = options.filter,
                               .lasting = options.lasting,
                               .next = offset_of(options.start)});
      model_.owe(model_.groups.back(), model_.groups.back().next);
    }
    model_.groups[place].members.insert(holder.node.value);
    model_.settle();
  }
  void fetch() {
    if (model_.groups.empty()) return join();
    fetch(someone(), random_.below(model_.groups.size()));
  }
  void fetch(Holder holder, std::size_t place) {
    ModelGroup& group = model_.groups[place];
    const FetchOptions options{
        .items = static_cast<std::uint32_t>(1 + random_.below(12)),
        .bytes = random_.below(300),
        .lease = calm_ ? Duration(1'000h) : Duration(1 + random_.below(4'000'000'000)),
        .waiter = ++waiters_};
    ErrorCode expected = ErrorCode::none;
    std::vector<std::uint64_t> taken;
    if (!group.alive) {
      expected = ErrorCode::not_found;
    } else if (!model_.knows(holder) || !group.members.contains(holder.node.value)) {
      expected = ErrorCode::permission;
    } else {
      taken = model_.take(group, options);
      if (taken.empty()) expected = nothing_for(group, holder);
    }
    if (taken.empty()) model_.settle();
    if (expected == ErrorCode::would_block) {
      waiting_[options.waiter] = {.group = place, .holder = holder};
    }
    const auto delivery = store_.fetch(holder, group.key, options);
    ASSERT_EQ(code_of(delivery), expected) << (delivery ? "" : delivery.error().message);
    if (!delivery) return;
    EXPECT_EQ(delivery->ended, taken.empty());
    if (!taken.empty()) lease(holder, place, options, *delivery, taken);
  }
  void lease(Holder holder, std::size_t place, const FetchOptions& options,
             const Delivery& delivery, const std::vector<std::uint64_t>& taken) {
    ModelGroup& group = model_.groups[place];
    ModelLease lease{.number = delivery.lease,
                     .holder = holder,
                     .group = place,
                     .range = delivery.range,
                     .until = clock_.now() + options.lease};
    std::size_t count = 0;
    for (const Slice& slice : delivery.slices) {
      for (std::uint32_t i = 0; i < slice.items; ++i, ++count) {
        ASSERT_LT(count, taken.size());
        const std::uint64_t offset = slice.first + i;
        ASSERT_EQ(offset, taken[count]);
        EXPECT_EQ(text_of(slice.item(i).bytes), model_.items[offset].text);
        Pending& pending = group.pending[offset];
        if (pending.lease == 0 && group.deliveries.contains(offset) && !sought_) {
          EXPECT_EQ(slice.deliveries, ++pending.deliveries);
        }
        pending.lease = delivery.lease.value;
        ++group.deliveries[offset];
        lease.pins.insert(model_.items[offset].batch);
      }
    }
    EXPECT_EQ(count, taken.size());
    EXPECT_EQ(delivery.range, (OffsetRange{taken.front(), taken.back() + 1}));
    model_.leases.push_back(std::move(lease));
    model_.settle();
  }

  void ack() {
    if (model_.leases.empty()) return fetch();
    const std::size_t place = random_.below(model_.leases.size());
    ModelLease& lease = model_.leases[place];
    std::vector<OffsetRange> ranges;
    for (std::uint64_t i = random_.below(3); i > 0; --i) {
      const std::uint64_t begin = lease.range.begin + random_.below(lease.range.size());
      ranges.push_back({begin, begin + 1 + random_.below(lease.range.size())});
    }
    ack(place, ranges);
  }
  void ack(std::size_t place, const std::vector<OffsetRange>& ranges) {
    ModelLease& lease = model_.leases[place];
    const auto acked = store_.ack(lease.holder, id_, lease.number, ranges);
    ASSERT_TRUE(acked) << acked.error().message;
    const std::vector<OffsetRange> parts =
        ranges.empty() ? std::vector<OffsetRange>{lease.range} : ranges;
    bool to_the_end = false;
    auto& pending = model_.groups[lease.group].pending;
    for (const OffsetRange& range : parts) {
      to_the_end |= range.end >= lease.range.end;
      if (!lease.attached) continue;
      std::erase_if(pending, [&](const auto& item) {
        const bool mine = item.second.lease == lease.number.value || item.second.lease == 0;
        const std::uint64_t end = std::min(range.end, lease.range.end);
        return mine && item.first >= range.begin && item.first < end;
      });
    }
    std::set<std::size_t> left;
    for (const auto& [offset, item] : pending) {
      if (item.lease == lease.number.value) left.insert(model_.items[offset].batch);
    }
    if (lease.lapsed ? to_the_end : left.empty()) {
      model_.leases.erase(model_.leases.begin() + static_cast<std::ptrdiff_t>(place));
    } else if (!lease.lapsed) {
      std::erase_if(lease.pins, [&](std::size_t batch) { return !left.contains(batch); });
    }
    model_.settle();
  }
  void end_lease() {
    if (model_.leases.empty()) return;
    const std::size_t place = random_.below(model_.leases.size());
    ModelLease& lease = model_.leases[place];
    const Duration time(1 + random_.below(4'000'000'000));
    switch (random_.below(3)) {
      case 0:
        ASSERT_TRUE(store_.give_back(lease.holder, id_, lease.number));
        return model_.end(place);
      case 1:
        ASSERT_TRUE(store_.done_reading(lease.holder, id_, lease.number));
        lease.pins.clear();
        return model_.settle();
      default:
        ASSERT_EQ(code_of(store_.extend(lease.holder, id_, lease.number, time)),
                  lease.lapsed ? ErrorCode::not_found : ErrorCode::none);
        if (!lease.lapsed) lease.until = clock_.now() + time;
    }
  }
  void leave_or_move() {
    if (model_.groups.empty()) return;
    const std::size_t place = random_.below(model_.groups.size());
    ModelGroup& group = model_.groups[place];
    const Position to{static_cast<Position::Kind>(random_.below(3)),
                      random_.below(model_.items.size() + 2)};
    const Holder holder = someone();
    const bool member = model_.knows(holder) && group.members.contains(holder.node.value);
    ErrorCode expected = group.alive ? ErrorCode::none : ErrorCode::not_found;
    switch (random_.below(8)) {
      case 0:
        ASSERT_EQ(code_of(store_.remove_group(group.key)), expected);
        return model_.remove_group(place);
      case 1:
        if (random_.below(8) != 0 || model_.ended != ErrorCode::none) return;
        ASSERT_TRUE(store_.close(id_));
        model_.ended = ErrorCode::shutting_down;
        return;
      case 2:
      case 3:
        if (group.alive && !member) expected = ErrorCode::permission;
        ASSERT_EQ(code_of(store_.quit(holder, group.key)), expected);
        if (expected == ErrorCode::none) model_.quit(holder, place);
        return;
      default:
        if (group.alive) expected = error_of(to);
        ASSERT_EQ(code_of(store_.seek(group.key, to)), expected);
        if (expected != ErrorCode::none) return;
        const std::uint64_t offset = offset_of(to);
        model_.detach(place);
        group.next = offset;
        model_.disturbed = sought_ = true;
        group.owed.clear();
        model_.settle();
    }
  }
  void live() {
    Holder& holder = random_.pick<Holder>(holders_);
    switch (random_.below(6)) {
      case 0: ++holder.epoch.value; return;
      case 1:
      case 2: clock_.advance(Duration(1 + random_.below(3'000'000'000))); return model_.pass();
      case 3:
        store_.leave(holder);
        if (model_.knows(holder)) model_.die(holder);
        return;
      default:
        for (const Holder& each : holders_) {
          if (random_.below(8) == 0) continue;
          EXPECT_EQ(store_.renew(each), model_.knows(each));
          if (model_.knows(each)) {
            model_.holders[each.node.value].second = clock_.now() + ObjectStore::kHolderLease;
          }
        }
    }
  }

  // Everybody dies but one, who reads to the end of everything.
  void finish() {
    if (model_.ended == ErrorCode::none) {
      ASSERT_TRUE(store_.close(id_));
      model_.ended = ErrorCode::shutting_down;
    }
    if (!calm_) {
      clock_.advance(ObjectStore::kHolderLease);
      model_.pass();
    }
    compare();
    while (calm_ && !model_.leases.empty()) ack(0, {});
    const Holder last{{99}, {1}};
    for (std::size_t i = 0; i < model_.groups.size(); ++i) {
      ModelGroup& group = model_.groups[i];
      if (!group.alive) continue;
      ASSERT_TRUE(store_.join(last, id_, group.name, {.filter = group.filter}));
      model_.admit(last);
      group.members.insert(last.node.value);
      while (group.next < model_.items.size() || !group.pending.empty()) {
        fetch(last, i);
        ASSERT_FALSE(testing::Test::HasFailure());
        if (!model_.leases.empty()) ack(model_.leases.size() - 1, {});
      }
    }
    compare();
    expect_each_delivered();
    EXPECT_TRUE(store_.remove(id_));
    EXPECT_EQ(arena_.use().extents, 0);
    EXPECT_EQ(store_.stats().waiters, 0);
    EXPECT_EQ(store_.stats().topics, 0);
  }
};

// A sanitized build runs ten times slower; it sees the same code with fewer seeds.
constexpr std::uint64_t kSeeds = kSanitized ? 100 : 3'000;

TEST(StreamModelTest, RandomVerbsAndDeathsDoWhatTheModelSays) {
  for (const std::uint64_t seed : Seeds(1, kSeeds)) Verbs(seed).run(150);
}

TEST(StreamModelTest, RandomVerbsAndDeathsDoWhatTheModelSaysLong) {
  for (const std::uint64_t seed : Seeds(10'001, 14'000)) Verbs(seed).run(400);
}

}  // namespace
}  // namespace godwit::ref::stream
