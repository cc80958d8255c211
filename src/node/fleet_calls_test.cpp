// Calls into real node processes: every kind of value, ending and way to wait.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "node/fleet_for_test.hpp"
#include "trace/json_value.hpp"

namespace godwit::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The name of a file that does not exist, and is removed if mobile code makes it.
class FileToCome {
 public:
  explicit FileToCome(const std::string& name)
      : path_(testing::TempDir() + "godwit-" + std::to_string(::getpid()) + name) {}
  FileToCome(const FileToCome&) = delete;
  FileToCome& operator=(const FileToCome&) = delete;
  ~FileToCome() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool exists() const { return std::filesystem::exists(path_); }

 private:
  std::string path_;
};

class FleetCalls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { fleet_ = new Fleet(local(3)); }
  static void TearDownTestSuite() {
    delete fleet_;
    fleet_ = nullptr;
  }
  template <class Signature>
  static Function<Signature> function(const char* name) {
    auto found = kernels().function<Signature>(name);
    if (!found) ADD_FAILURE() << found.error().message;
    return *found;
  }
  static Fleet* fleet_;
};
Fleet* FleetCalls::fleet_ = nullptr;

TEST_F(FleetCalls, CarryEveryKindOfValue) {
  const NodeHandle node = fleet_->node(1);
  EXPECT_EQ(value_of(function<Add>("add").on(node)(2, 3).get()), 5U);
  EXPECT_EQ(value_of(function<Add>("add_on_pool").on(node)(2, 3).get()), 5U);
  const std::vector<double> samples{3, 4, 12};
  EXPECT_EQ(value_of(function<double(std::span<const double>)>("norm").on(node)(samples).get()),
            13);
  EXPECT_EQ(value_of(function<std::string(std::string_view)>("greet").on(node)("you").get()),
            "hello, you");
  EXPECT_EQ(value_of(function<std::vector<double>(std::span<const double>)>("doubled")
                         .on(node)(samples)
                         .get()),
            (std::vector<double>{6, 8, 24}));
  using Counts = std::map<std::string, std::uint32_t>;
  const std::vector<std::string> words{"a", "b", "a"};
  EXPECT_EQ(value_of(function<Counts(std::vector<std::string>)>("count").on(node)(words).get()),
            (Counts{{"a", 2}, {"b", 1}}));
  using Best = std::optional<std::tuple<std::string, double>>;
  const std::map<std::string, double> scores{{"x", 1.5}, {"y", 2.5}};
  const auto best = function<Best(std::map<std::string, double>)>("best");
  EXPECT_EQ(value_of(best.on(node)(scores).get()), Best({"y", 2.5}));
  EXPECT_EQ(value_of(best.on(node)({}).get()), Best());
  const Point p = value_of(function<Point(Point)>("mirrored").on(node)(Point{1, 2}).get());
  EXPECT_EQ(p.x, -1);
  EXPECT_EQ(p.y, -2);
  EXPECT_TRUE(function<void()>("nothing").on(node)().get().has_value());
}

TEST_F(FleetCalls, CarryArgumentsAndResultsOf64MiB) {
  std::vector<double> large(std::size_t{8} << 20);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<double>(i % 1000);
  const auto doubled = function<std::vector<double>(std::span<const double>)>("doubled");
  const auto result = value_of(doubled.on(fleet_->node(0))(large).get());
  ASSERT_EQ(result.size(), large.size());
  for (std::size_t i = 0; i < large.size(); i += 4097) ASSERT_EQ(result[i], 2 * large[i]);
}

TEST_F(FleetCalls, NameBothSignaturesWhenTheyDiffer) {
  const auto wrong = kernels().function<double(double)>("norm");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::type_mismatch);
  EXPECT_NE(wrong.error().message.find("(span<f64>) -> f64"), std::string::npos);
  EXPECT_NE(wrong.error().message.find("(f64) -> f64"), std::string::npos);
  const auto unknown = kernels().function<double(double)>("nrom");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::unknown_function);
  EXPECT_NE(unknown.error().message.find("norm"), std::string::npos);
}

TEST_F(FleetCalls, AnExceptionIsAnAppErrorWithItsMessage) {
  const auto outcome = function<double(double)>("reciprocal").on(fleet_->node(0))(0).get();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().ending, Ending::app_error);
  EXPECT_EQ(outcome.error().message, "zero has no reciprocal");
}

TEST_F(FleetCalls, ADeadlineEndsTheWaitAndTheNodeGoesOn) {
  const auto sleep = function<bool(std::uint32_t)>("sleep_ms");
  const auto began = std::chrono::steady_clock::now();
  const auto outcome = sleep.on(fleet_->node(0)).within(milliseconds(50))(20'000).get();
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(5));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().ending, Ending::deadline);
  EXPECT_TRUE(outcome.error().may_have_started);
  EXPECT_EQ(value_of(function<Add>("add").on(fleet_->node(0))(1, 1).get()), 2U);
}

TEST_F(FleetCalls, CancelEndsACallAndTellsTheFunction) {
  const FileToCome begun("begun");
  const FileToCome told("told");
  const auto report = function<void(std::string_view, std::string_view)>("report_cancel");
  auto future = report.on(fleet_->node(0))(begun.path(), told.path());
  ASSERT_TRUE(eventually([&] { return begun.exists(); }));
  EXPECT_FALSE(future.ready());
  EXPECT_FALSE(told.exists());
  future.cancel();
  const auto outcome = future.get();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().ending, Ending::cancelled);
  EXPECT_TRUE(eventually([&] { return told.exists(); }));
}

TEST_F(FleetCalls, AnInlineFunctionMayNotBlock) {
  const auto block = function<std::vector<std::uint32_t>()>("block_inline");
  const auto refused = static_cast<std::uint32_t>(ErrorCode::would_block);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(value_of(block.on(fleet_->node(0))().get()),
              (std::vector<std::uint32_t>{refused, refused}));
  }
}

TEST_F(FleetCalls, TravelAcrossAllNodesAndComeHome) {
  using Seen = std::vector<std::uint64_t>;
  const auto tour = function<Seen(Seen, std::uint32_t)>("tour");
  const Seen seen = value_of(tour.on(fleet_->node(0))({}, 9).get());
  ASSERT_EQ(seen.size(), 10U);
  EXPECT_EQ(seen.front(), fleet_->node(0).id());
  EXPECT_EQ(seen[1], fleet_->node(2).id());
  EXPECT_EQ(seen.back(), fleet_->node(0).id());
}

TEST_F(FleetCalls, FanOutAndJoin) {
  const auto sum = function<std::uint64_t(std::uint64_t)>("sum_of_fleet");
  EXPECT_EQ(value_of(sum.on(fleet_->node(2))(7).get()), 21U);
}

TEST_F(FleetCalls, AFanOutBeyondTheLimitSaysSo) {
  const auto many = function<std::uint64_t(std::uint32_t)>("too_many");
  const auto outcome = many.on(fleet_->node(0))(5000).get();
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("4096 calls outstanding"), std::string::npos)
      << outcome.error().message;
}

TEST_F(FleetCalls, OneWayCallsCountAsOutstandingUntilTheyEnd) {
  const FileToCome file("flood");
  Fleet fleet = local(1);
  const auto flood = function<std::uint32_t(std::string_view, std::uint32_t)>("one_way_flood");
  EXPECT_EQ(value_of(flood.on(fleet.node(0))(file.path(), 5000).get()), 4096U);
  std::ofstream(file.path()).put('\n');
}

// What a node says of the bundles it has.
std::vector<trace::JsonValue> bundles_at(const Fleet& fleet, const NodeHandle& node) {
  const auto text = fleet.status(node);
  if (!text) return {};  // asked too often
  return trace::JsonValue::parse(*text).value()["code"]["bundles"].items();
}

TEST_F(FleetCalls, CodeThatWasSpreadIsThereBeforeItsFirstCall) {
  Fleet fleet = local(2);
  const NodeHandle target = fleet.node(1);
  ASSERT_TRUE(fleet.status(target));
  ASSERT_TRUE(bundles_at(fleet, target).empty());
  const auto spread = function<std::int32_t(std::uint64_t)>("spread_to");
  EXPECT_EQ(value_of(spread.on(fleet.node(0))(target.id()).get()), 0);
  std::vector<trace::JsonValue> bundles;
  auto ask_at = std::chrono::steady_clock::now();
  ASSERT_TRUE(eventually([&] {
    if (std::chrono::steady_clock::now() < ask_at) return false;
    ask_at += milliseconds(100);  // a node answers 16 times a second
    bundles = bundles_at(fleet, target);
    return !bundles.empty() && bundles[0]["state"].text() == "ready";
  }));
  ASSERT_EQ(bundles.size(), 1U);
  EXPECT_EQ(bundles[0]["name"].text(), "kernels");
  EXPECT_EQ(bundles[0]["calls"].count(), 0U);
  EXPECT_EQ(value_of(function<Add>("add").on(target)(1, 2).get()), 3U);
}

TEST_F(FleetCalls, ContinueWithThenWhenAllAndCoAwait) {
  const auto add = function<Add>("add");
  const NodeHandle node = fleet_->node(0);
  auto chained = add.on(node)(1, 2).then([](Outcome<std::uint64_t> sum) { return *sum * 10; });
  EXPECT_EQ(value_of(std::move(chained).get()), 30U);

  std::vector<Future<std::uint64_t>> futures;
  for (std::uint64_t i = 0; i < 10; ++i) futures.push_back(add.on(fleet_->node(i % 3))(i, i));
  const auto all = value_of(when_all(std::move(futures)).get());
  ASSERT_EQ(all.size(), 10U);
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(*all[i], 2 * i);

  const auto twice = [](Function<Add> f, NodeHandle at) -> Future<std::uint64_t> {
    const auto once = co_await f.on(at)(20, 1);
    co_return co_await f.on(at)(*once, *once);
  };
  EXPECT_EQ(value_of(twice(add, node).get()), 42U);

  auto failed = add.on(node)(1, 2).then(
      [](Outcome<std::uint64_t>) -> int { throw std::runtime_error("no"); });
  EXPECT_EQ(std::move(failed).get().error().message, "no");
}

TEST_F(FleetCalls, OneWayCallsRun) {
  const auto tick = function<std::uint64_t()>("tick");
  const auto at = tick.on(fleet_->node(1));
  const std::uint64_t before = value_of(at().get());
  for (int i = 0; i < 10; ++i) at.one_way();
  EXPECT_TRUE(eventually([&] { return value_of(at().get()) > before + 10; }));
}

TEST_F(FleetCalls, NamesAreSharedWithTheFleet) {
  ASSERT_TRUE(fleet_->put_name("graph", "at n2"));
  EXPECT_EQ(fleet_->find_name("graph").value(), "at n2");
  const auto other = Fleet::join(fleet_->describe().at(1).addresses.at(0));
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_TRUE(eventually([&] { return other->find_name("graph").value_or("") == "at n2"; }));
  EXPECT_EQ(fleet_->find_name("graf").error().code, ErrorCode::not_found);
}

TEST_F(FleetCalls, ANameOutlivesTheClientThatWroteIt) {
  {
    auto writer = Fleet::join(fleet_->describe().at(0).addresses.at(0));
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE(writer->put_name("last words", "here"));
  }
  EXPECT_TRUE(eventually([&] { return fleet_->find_name("last words").value_or("") == "here"; }));
}

TEST_F(FleetCalls, AnUnknownNodeIsNamedWithThoseThereAre) {
  const auto found = fleet_->find("n7");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::not_found);
  for (const char* name : {"'n7'", "n0", "n1", "n2"}) {
    EXPECT_NE(found.error().message.find(name), std::string::npos) << found.error().message;
  }
}

TEST_F(FleetCalls, BitcodeRunsAndCodeMadeByCodeRunsElsewhere) {
  const Bundle bitcode = kernels(GODWIT_TEST_BITCODE_BUNDLE);
  const auto norm = bitcode.function<double(std::span<const double>)>("norm").value();
  const std::vector<double> samples{3, 4, 12};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(value_of(norm.on(fleet_->node(1))(samples).get()), 13);
  const auto reciprocal = bitcode.function<double(double)>("reciprocal").value();
  const auto thrown = reciprocal.on(fleet_->node(1))(0).get();
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().ending, Ending::app_error);
  EXPECT_EQ(thrown.error().message, "zero has no reciprocal");
  const auto build = function<double(double, double, double)>("build_and_call");
  EXPECT_EQ(value_of(build.on(fleet_->node(0))(2, 1, 20).get()), 41);
}

}  // namespace
}  // namespace godwit::node
