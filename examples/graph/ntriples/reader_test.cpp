#include "ntriples/reader.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "ntriples/spelling.hpp"
#include "ntriples/utf8.hpp"
#include "ntriples/writer.hpp"
#include "test_graphs.hpp"

namespace godwit::graph {
namespace {

class Collected final : public TripleSink {
 public:
  Status add(const SpelledTriple& triple) override {
    lines.push_back(fmt::format("{} {} {} .\n", triple.subject, triple.predicate, triple.object));
    return {};
  }
  std::vector<std::string> lines;
};

std::string joined(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, ""));
}

// Any term, with anything in it that a literal may have, spelled canonically.
std::string random_term(Random& random, bool literal) {
  if (!literal) {
    return random.chance(0.2) ? fmt::format("_:b{}", random.below(9))
                              : fmt::format("<http://a.example/{}>", random.below(99));
  }
  std::string text;
  const std::uint64_t length = random.below(12);
  for (std::uint64_t i = 0; i < length; ++i) {
    const std::uint32_t kPoints[] = {'a',  ' ', '"',  '\\',   '\n',   '\r',
                                     '\t', 0x1, 0xE9, 0x20AC, 0x1F426};
    append_utf8(text, kPoints[random.below(std::size(kPoints))]);
  }
  const std::string kTails[] = {"", "@en", "@de-at", "^^<http://t.example/t>"};
  return spell_string(text) + kTails[random.below(std::size(kTails))];
}

TEST(NtriplesReader, WhatIsWrittenReadsBackTheSame) {
  TestFolder folder;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Collected expected;
    auto writer = NtriplesWriter::create(folder / "x.nt");
    ASSERT_TRUE(writer);
    for (int i = 0; i < 100; ++i) {
      const std::string subject = random_term(random, false);
      const std::string object = random_term(random, random.chance(0.7));
      const SpelledTriple triple{.subject = subject, .predicate = "<x:p>", .object = object};
      ASSERT_TRUE(expected.add(triple));
      ASSERT_TRUE(writer->add(triple));
    }
    ASSERT_TRUE(writer->commit());
    Collected read;
    const auto triples =
        read_ntriples(folder / "x.nt", read, {.chunk_bytes = 1 + random.below(64)});
    ASSERT_TRUE(triples) << "seed " << seed << ": " << triples.error().message;
    EXPECT_EQ(*triples, 100U);
    EXPECT_EQ(read.lines, expected.lines) << "seed " << seed;
  }
}

TEST(NtriplesReader, TakesTextInPiecesThatEndAnywhere) {
  const std::string text =
      "# people\n<x:a> <x:p> \"\xC3\xA9\\n\" .\r\n\n<x:b> <x:p> <x:a> .\n<x:c> <x:p> _:d .";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    Collected read;
    NtriplesReader reader("people.nt", read);
    for (std::size_t at = 0; at < text.size(); at += size) {
      ASSERT_TRUE(reader.feed(std::string_view(text).substr(at, size)));
    }
    ASSERT_TRUE(reader.finish());
    EXPECT_EQ(joined(read.lines),
              "<x:a> <x:p> \"\xC3\xA9\\n\" .\n<x:b> <x:p> <x:a> .\n<x:c> <x:p> _:d .\n");
  }
}

TEST(NtriplesReader, AnErrorNamesTextLineAndColumn) {
  Collected read;
  NtriplesReader reader("people.nt", read);
  const auto fed = reader.feed("<x:a> <x:p> <x:b> .\n# fine\n<x:a> <x:p> oops .\n");
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().code, ErrorCode::bad_format);
  EXPECT_TRUE(fed.error().message.starts_with("people.nt:3:13: an object is"))
      << fed.error().message;
  EXPECT_EQ(read.lines.size(), 1U);
}

TEST(NtriplesReader, ALineThatNeverEndsIsRefused) {
  Collected read;
  NtriplesReader reader("long.nt", read);
  const std::string piece(kMaxLineBytes / 2, '#');
  ASSERT_TRUE(reader.feed(piece));
  ASSERT_TRUE(reader.feed(piece));
  const auto fed = reader.feed("#");
  ASSERT_FALSE(fed);
  EXPECT_TRUE(fed.error().message.starts_with("long.nt:1: the line has more than"));
}

TEST(NtriplesReader, AMissingFileIsSaidToBeMissing) {
  Collected read;
  const auto triples = read_ntriples("/nowhere/x.nt", read);
  ASSERT_FALSE(triples);
  EXPECT_EQ(triples.error().code, ErrorCode::not_found);
  EXPECT_NE(triples.error().message.find("/nowhere/x.nt"), std::string::npos);
}

TEST(NtriplesReader, ReportsHowFarItIs) {
  TestFolder folder;
  std::ofstream(folder / "x.nt") << "<x:a> <x:p> <x:b> .\n<x:a> <x:p> <x:c> .\n";
  Collected read;
  std::vector<ReadProgress> seen;
  ASSERT_TRUE(read_ntriples(folder / "x.nt", read,
                            {.chunk_bytes = 20, .progress = [&](const ReadProgress& progress) {
                               seen.push_back(progress);
                             }}));
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].bytes, 20U);
  EXPECT_EQ(seen[0].triples, 1U);
  EXPECT_EQ(seen[1].bytes, 40U);
  EXPECT_EQ(seen[1].total_bytes, 40U);
}

TEST(NtriplesReader, DamagedTextNeverGivesATermThatIsNone) {
  const std::string good =
      "<http://a.example/s> <http://a.example/p> \"t\\u00E9xt \\\"q\\\"\"@en-GB .\n"
      "_:b1 <http://a.example/p> \"7\"^^<http://www.w3.org/2001/XMLSchema#int> . # c\n";
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    std::string text = good;
    for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    }
    Collected read;
    NtriplesReader reader("damaged", read);
    (void)(reader.feed(text) && reader.finish());
    // Whatever got through is N-Triples, and reads back as itself.
    Collected again;
    NtriplesReader check("again", again);
    ASSERT_TRUE(check.feed(joined(read.lines)) && check.finish()) << "seed " << seed;
    ASSERT_EQ(again.lines, read.lines) << "seed " << seed;
  }
}

TEST(NtriplesWriter, WithoutCommitThereIsNoFile) {
  TestFolder folder;
  {
    auto writer = NtriplesWriter::create(folder / "x.nt");
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->add({.subject = "<x:s>", .predicate = "<x:p>", .object = "<x:o>"}));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace godwit::graph
