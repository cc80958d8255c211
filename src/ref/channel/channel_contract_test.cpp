// What every channel keeps, whatever it is made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/bytes.hpp"
#include "base/folder_for_test.hpp"
#include "godwit/channel.hpp"
#include "ref/channel/redis/redis_for_test.hpp"

namespace godwit::ref {
namespace {

using Value = std::vector<std::byte>;

Value value_of(std::size_t size, unsigned seed) {
  Value value(size);
  for (std::size_t i = 0; i < size; ++i) {
    value[i] = static_cast<std::byte>((i * 131 + (i >> 8) * 7 + seed * 31) & 0xFFU);
  }
  return value;
}

Status put(Channel& channel, std::string_view key, const Value& value) {
  const Bytes part(value);
  return channel.put(key, {&part, 1});
}

Result<Value> get(Channel& channel, std::string_view key) {
  const auto size = channel.size(key);
  if (!size) return tl::unexpected(size.error());
  Value value(*size);
  if (const Status got = channel.get(key, 0, value); !got) return tl::unexpected(got.error());
  return value;
}

// A user's own channel, as docs/channels.md shows it: this much is a channel.
class ShoutingChannel final : public Channel {
 public:
  Status put(std::string_view key, Parts parts) override {
    Value value;
    for (const auto& part : parts) value.insert(value.end(), part.begin(), part.end());
    const std::lock_guard lock(mutex_);
    values_[std::string(key)] = std::move(value);
    return {};
  }
  Status get(std::string_view key, std::uint64_t offset, std::span<std::byte> into) override {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    if (found == values_.end()) return missing(key);
    if (offset > found->second.size() || into.size() > found->second.size() - offset) {
      return tl::unexpected(Error{ErrorCode::invalid_argument, "beyond the end"});
    }
    const auto from = found->second.begin() + static_cast<std::ptrdiff_t>(offset);
    std::copy_n(from, into.size(), into.begin());
    return {};
  }
  Result<std::uint64_t> size(std::string_view key) override {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    if (found == values_.end()) return tl::unexpected(missing(key).error());
    return static_cast<std::uint64_t>(found->second.size());
  }
  Status remove(std::string_view key) override {
    const std::lock_guard lock(mutex_);
    if (const auto found = values_.find(key); found != values_.end()) values_.erase(found);
    return {};
  }
  [[nodiscard]] std::string describe() const override { return "shout:"; }

 private:
  static Status missing(std::string_view key) {
    return tl::unexpected(Error{ErrorCode::not_found, "nothing under " + std::string(key)});
  }
  std::mutex mutex_;
  std::map<std::string, Value, std::less<>> values_;
};

// A place for values, and how to open it.
struct Place {
  virtual ~Place() = default;
  virtual std::string url() = 0;
};
struct UrlPlace : Place {
  explicit UrlPlace(std::string where) : text(std::move(where)) {}
  std::string url() override { return text; }
  std::string text;
};
struct FilePlace : Place {
  std::string url() override { return "file:" + (folder / "store").string(); }
  TestFolder folder;
};
struct RedisPlace : Place {
  explicit RedisPlace(RedisForTest::Options options, std::string query = "")
      : server(std::move(options)), more(std::move(query)) {}
  std::string url() override { return server.url(more); }
  RedisForTest server;
  std::string more;
};
struct ClusterPlace : Place {
  std::string url() override { return cluster.url(); }
  RedisClusterForTest cluster;
};

struct Kind {
  std::string name;
  std::function<std::unique_ptr<Place>()> make;
};

class ChannelContract : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    place_ = GetParam().make();
    auto opened = open_channel(place_->url());
    ASSERT_TRUE(opened) << opened.error().message;
    channel_ = *std::move(opened);
  }
  Channel& channel() { return *channel_; }

  std::unique_ptr<Place> place_;
  std::unique_ptr<Channel> channel_;
};

TEST_P(ChannelContract, WhatIsPutIsGotWhateverItsSize) {
  for (const std::size_t size : {0, 1, 31, 32, 33, 4096, 100'000, 1'000'003, 5'000'000}) {
    const Value value = value_of(size, static_cast<unsigned>(size));
    const Status done = put(channel(), "k", value);
    ASSERT_TRUE(done) << size << ": " << done.error().message;
    EXPECT_EQ(channel().size("k").value(), size);
    EXPECT_EQ(get(channel(), "k").value(), value) << size;
  }
}

TEST_P(ChannelContract, PartsBecomeOneValue) {
  const Value value = value_of(300'000, 3);
  const Bytes all(value);
  const std::array<Bytes, 4> parts{all.first(7), Bytes(), all.subspan(7, 200'000),
                                   all.subspan(200'007)};
  ASSERT_TRUE(channel().put("k", parts));
  EXPECT_EQ(get(channel(), "k").value(), value);
}

TEST_P(ChannelContract, AnyRangeCanBeGot) {
  const Value value = value_of(1'000'000, 4);
  ASSERT_TRUE(put(channel(), "k", value));
  for (const auto& [from, size] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 10}, {1, 1}, {999'999, 1}, {65'530, 70'000}, {500'000, 500'000}, {1'000'000, 0}}) {
    Value some(size);
    const Status got = channel().get("k", from, some);
    ASSERT_TRUE(got) << from << ": " << got.error().message;
    EXPECT_TRUE(
        std::equal(some.begin(), some.end(), value.begin() + static_cast<std::ptrdiff_t>(from)));
  }
  Value some(10);
  EXPECT_EQ(channel().get("k", 999'995, some).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(channel().get("k", 1'000'001, some).error().code, ErrorCode::invalid_argument);
}

TEST_P(ChannelContract, WhatIsNotThereIsNotFoundAndMayBeRemoved) {
  Value some(1);
  EXPECT_EQ(channel().get("gone", 0, some).error().code, ErrorCode::not_found);
  EXPECT_EQ(channel().size("gone").error().code, ErrorCode::not_found);
  EXPECT_FALSE(channel().exists("gone").value());
  EXPECT_TRUE(channel().remove("gone"));
  ASSERT_TRUE(put(channel(), "k", value_of(10, 1)));
  EXPECT_TRUE(channel().exists("k").value());
  EXPECT_TRUE(channel().remove("k"));
  EXPECT_TRUE(channel().remove("k"));
  EXPECT_FALSE(channel().exists("k").value());
}

TEST_P(ChannelContract, AnotherOpenerSeesIt) {
  if (GetParam().name == "memory" || GetParam().name == "own") GTEST_SKIP() << "one process's own";
  ASSERT_TRUE(put(channel(), "k", value_of(5000, 9)));
  const auto other = open_channel(place_->url()).value();
  EXPECT_EQ(get(*other, "k").value(), value_of(5000, 9));
  EXPECT_TRUE(other->ping());
}

TEST_P(ChannelContract, BatchesDoWhatTheirItemsDoAlone) {
  constexpr std::size_t kItems = 200;
  std::vector<std::string> keys;
  std::vector<Value> values;
  std::vector<Bytes> parts;
  for (std::size_t i = 0; i < kItems; ++i) {
    keys.push_back("item-" + std::to_string(i));
    values.push_back(value_of(i * 97, static_cast<unsigned>(i)));
  }
  values[50] = value_of(3'000'000, 50);
  for (const Value& value : values) parts.emplace_back(value);
  std::vector<Channel::PutItem> puts;
  for (std::size_t i = 0; i < kItems; ++i) puts.push_back({keys[i], {&parts[i], 1}});
  for (const Status& done : channel().put_batch(puts)) ASSERT_TRUE(done) << done.error().message;
  std::vector<Value> got;
  std::vector<Channel::GetItem> gets;
  for (const Value& value : values) got.emplace_back(value.size());
  for (std::size_t i = 0; i < kItems; ++i) gets.push_back({keys[i], 0, got[i]});
  gets.push_back({"gone", 0, got[1]});
  const auto results = channel().get_batch(gets);
  ASSERT_EQ(results.size(), kItems + 1);
  for (std::size_t i = 0; i < kItems; ++i) {
    ASSERT_TRUE(results[i]) << i << ": " << results[i].error().message;
    EXPECT_EQ(got[i], values[i]) << i;
  }
  EXPECT_EQ(results[kItems].error().code, ErrorCode::not_found);
}

TEST_P(ChannelContract, ManyThreadsDoNotDisturbEachOther) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 50; ++i) {
        const std::string key = "t" + std::to_string(t);
        const Value value = value_of(1000 + i * 100, t * 1000 + i);
        if (!put(channel(), key, value)) ++failures;
        const auto got = get(channel(), key);
        if (!got || *got != value) ++failures;
        if (!channel().remove(key)) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

// Values of one size whose bytes are all the same: a mixture would show.
TEST_P(ChannelContract, AReaderBesideAWriterSeesOneValueNeverAMixture) {
  constexpr std::size_t kSize = 300'000;
  const auto uniform = [](unsigned i) { return Value(kSize, static_cast<std::byte>(i)); };
  ASSERT_TRUE(put(channel(), "k", uniform(0)));
  std::atomic<bool> over{false};
  std::atomic<int> torn{0};
  std::atomic<int> reads{0};
  std::thread reader([&] {
    Value got(kSize);
    while (!over) {
      if (!channel().get("k", 0, got)) {
        ++torn;
        continue;
      }
      if (std::any_of(got.begin(), got.end(), [&](std::byte b) { return b != got[0]; })) ++torn;
      ++reads;
    }
  });
  for (unsigned i = 1; i < 200 || reads < 20; ++i) {
    EXPECT_TRUE(put(channel(), "k", uniform(i % 256)));
  }
  over = true;
  reader.join();
  EXPECT_EQ(torn, 0);
}

TEST_P(ChannelContract, KeysThatCouldEscapeAreRefused) {
  if (GetParam().name == "own") GTEST_SKIP();
  for (const char* key : {"", "../x", "a/b", "a b", "a\r\nDEL", "."}) {
    EXPECT_EQ(put(channel(), key, value_of(1, 1)).error().code, ErrorCode::invalid_argument) << key;
  }
  EXPECT_TRUE(put(channel(), std::string(Channel::kMaxKey, 'x'), value_of(1, 1)));
}

TEST_P(ChannelContract, ItTellsWhereItIsWithoutItsPassword) {
  EXPECT_THAT(channel().describe(), testing::HasSubstr(":"));
  EXPECT_THAT(channel().describe(), testing::Not(testing::HasSubstr("geheim")));
}

Kind own_kind() {
  return {"own", [] {
            EXPECT_TRUE(register_channel("shout", [](const ChannelUrl&) {
              return Result<std::unique_ptr<Channel>>(std::make_unique<ShoutingChannel>());
            }));
            return std::make_unique<UrlPlace>("shout:loud");
          }};
}

template <class P, class... Args>
std::function<std::unique_ptr<Place>()> making(Args... args) {
  return [args...] { return std::make_unique<P>(args...); };
}

INSTANTIATE_TEST_SUITE_P(
    Every, ChannelContract,
    testing::Values(Kind{"memory", making<UrlPlace>("memory:")}, Kind{"file", making<FilePlace>()},
                    Kind{"redis", making<RedisPlace>(RedisForTest::Options{})},
                    Kind{"redis_in_parts",
                         making<RedisPlace>(RedisForTest::Options{}, "part_bytes=100000")},
                    Kind{"redis_tls", making<RedisPlace>(RedisForTest::Options{.password = "geheim",
                                                                               .tls = true})},
                    Kind{"redis_cluster", making<ClusterPlace>()}, own_kind()),
    [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace godwit::ref
