#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/random.hpp"
#include "generate/rmat.hpp"
#include "generate/university.hpp"
#include "ntriples/line_parser.hpp"
#include "test_graphs.hpp"

namespace godwit::graph {
namespace {

// Of what seed 1 makes, and of R-MAT's scale 8 with seed 9: answers are compared between machines
// and versions, so the data may not change.
constexpr std::uint64_t kPinnedUniversities = 902907761754565861U;
constexpr std::uint64_t kPinnedRmat = 14069990928372441725U;

// Keeps a digest of all triples, and one of the first `watched`.
class Digest final : public TripleSink {
 public:
  explicit Digest(std::uint64_t watched = 0) : watched_(watched) {}
  Status add(const SpelledTriple& triple) override {
    for (const std::string_view term : {triple.subject, triple.predicate, triple.object}) {
      for (const char c : term) value = mix64(value ^ static_cast<std::uint8_t>(c));
      value = mix64(value ^ 0x100U);
    }
    if (++triples == watched_) first_value = value;
    return {};
  }
  std::uint64_t value = 0;
  std::uint64_t first_value = 0;
  std::uint64_t triples = 0;

 private:
  std::uint64_t watched_;
};

TEST(Universities, AreTheSameForTheSameSeed) {
  Digest one;
  Digest again;
  Digest other;
  ASSERT_TRUE(generate_universities({.seed = 1}, one));
  ASSERT_TRUE(generate_universities({.seed = 1}, again));
  ASSERT_TRUE(generate_universities({.seed = 2}, other));
  EXPECT_EQ(one.value, again.value);
  EXPECT_NE(one.value, other.value);
  EXPECT_EQ(one.value, kPinnedUniversities);
}

TEST(Universities, HaveAboutAHundredThousandTriplesEach) {
  Digest three;
  ASSERT_TRUE(generate_universities({.universities = 3}, three));
  EXPECT_GT(three.triples, 3U * 80'000);
  EXPECT_LT(three.triples, 3U * 150'000);
}

TEST(Universities, TheFirstOfManyAreTheSameAsFew) {
  Digest one;
  ASSERT_TRUE(generate_universities({.universities = 1}, one));
  Digest two(one.triples);
  ASSERT_TRUE(generate_universities({.universities = 2}, two));
  EXPECT_GT(two.triples, one.triples);
  EXPECT_EQ(two.first_value, one.value);
}

// Refuses what the loader would spell otherwise.
class CanonicalOnly final : public TripleSink {
 public:
  Status add(const SpelledTriple& triple) override {
    const std::string line =
        fmt::format("{} {} {} .", triple.subject, triple.predicate, triple.object);
    const auto parsed = parser_.parse(line);
    EXPECT_TRUE(parsed && *parsed && (*parsed)->object == triple.object) << line;
    return {};
  }

 private:
  LineParser parser_;
};

TEST(Universities, StateTermsInTheirCanonicalSpelling) {
  CanonicalOnly sink;
  ASSERT_TRUE(generate_universities({}, sink));
}

TEST(Universities, CiteOnlyWhatExists) {
  GraphBuilder builder;
  ASSERT_TRUE(generate_universities({.universities = 2}, builder));
  const Graph graph = std::move(builder).finish();
  const auto cites = graph.dictionary().find(fmt::format("<{}cites>", kUniversityPrefix));
  const auto year = graph.dictionary().find(fmt::format("<{}year>", kUniversityPrefix));
  ASSERT_TRUE(cites && year);
  EXPECT_GT(graph.statistics(*cites).triples, 1000U);
  for (TermId vertex = 0; vertex < graph.terms(); ++vertex) {
    if (graph.in().edges_of(vertex, *cites).empty()) continue;
    ASSERT_EQ(graph.out().edges_of(vertex, *year).size(), 1U)
        << graph.dictionary().spelling(vertex);
  }
}

TEST(Universities, NoneOrTooManyAreRefused) {
  Digest sink;
  EXPECT_EQ(generate_universities({.universities = 0}, sink).error().code,
            ErrorCode::invalid_argument);
  EXPECT_FALSE(generate_universities({.universities = kMaxUniversities + 1}, sink));
}

TEST(Rmat, IsTheSameForTheSameOptions) {
  Digest one;
  Digest again;
  Digest other;
  ASSERT_TRUE(generate_rmat({.scale = 8, .seed = 9}, one));
  ASSERT_TRUE(generate_rmat({.scale = 8, .seed = 9}, again));
  ASSERT_TRUE(generate_rmat({.scale = 8, .seed = 10}, other));
  EXPECT_EQ(one.triples, 256U * 16);
  EXPECT_EQ(one.value, again.value);
  EXPECT_NE(one.value, other.value);
  EXPECT_EQ(one.value, kPinnedRmat);
}

// The share of edges whose source has the highest bit 0 is a + b, and of targets a + c.
TEST(Rmat, FallsIntoTheQuartersAsLikelyAsAsked) {
  class Quarters final : public TripleSink {
   public:
    Status add(const SpelledTriple& triple) override {
      const auto high = [](std::string_view term) {
        return std::stoul(std::string(term.substr(10, term.size() - 11))) >= 512;
      };
      ++counts[{high(triple.subject), high(triple.object)}];
      return {};
    }
    std::map<std::pair<bool, bool>, double> counts;
  };
  Quarters sink;
  ASSERT_TRUE(generate_rmat({.scale = 10, .a = 0.4, .b = 0.3, .c = 0.2, .d = 0.1}, sink));
  const double all = 1024 * 16;
  EXPECT_NEAR((sink.counts[{false, false}] / all), 0.4, 0.02);
  EXPECT_NEAR((sink.counts[{false, true}] / all), 0.3, 0.02);
  EXPECT_NEAR((sink.counts[{true, false}] / all), 0.2, 0.02);
  EXPECT_NEAR((sink.counts[{true, true}] / all), 0.1, 0.02);
}

TEST(Rmat, OptionsThatMakeNoSenseAreRefused) {
  Digest sink;
  for (const RmatOptions& options :
       {RmatOptions{.scale = 0}, RmatOptions{.scale = kMaxRmatScale + 1},
        RmatOptions{.edge_factor = 0}, RmatOptions{.a = 0.9}, RmatOptions{.a = 0.81, .d = -0.19},
        RmatOptions{.a = std::nan("")}}) {
    EXPECT_EQ(generate_rmat(options, sink).error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(sink.triples, 0U);
}

}  // namespace
}  // namespace godwit::graph
