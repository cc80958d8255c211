#include "ntriples/line_parser.hpp"

#include <gtest/gtest.h>

#include <string>

#include "ntriples/spelling.hpp"

namespace godwit::graph {
namespace {

std::string object_of(const std::string& object) {
  LineParser parser;
  const std::string line = "<x:s> <x:p> " + object + " .";
  const auto triple = parser.parse(line);
  if (!triple) return "error: " + triple.error().message;
  return std::string(triple->value().object);
}

struct Refusal {
  std::string line;
  std::size_t column;
  std::string why;
};

TEST(NtriplesLine, HasThreeTermsAndADot) {
  LineParser parser;
  const auto triple = parser.parse("\t<http://a/s>  <http://a/p>\t\"o\"@en  .  # why not");
  ASSERT_TRUE(triple && *triple);
  EXPECT_EQ((*triple)->subject, "<http://a/s>");
  EXPECT_EQ((*triple)->predicate, "<http://a/p>");
  EXPECT_EQ((*triple)->object, "\"o\"@en");
}

TEST(NtriplesLine, NeedsNoBlanksBetweenTerms) {
  LineParser parser;
  const auto triple = parser.parse("_:a<x:p>_:b.c.");
  ASSERT_TRUE(triple && *triple);
  EXPECT_EQ((*triple)->subject, "_:a");
  EXPECT_EQ((*triple)->object, "_:b.c");
}

TEST(NtriplesLine, MayBeEmptyOrAComment) {
  LineParser parser;
  for (const char* line : {"", "   \t", "# <x:s> <x:p> <x:o> .", "  # indented"}) {
    const auto triple = parser.parse(line);
    ASSERT_TRUE(triple) << line;
    EXPECT_FALSE(*triple) << line;
  }
}

TEST(NtriplesLine, EqualTermsGetOneSpelling) {
  EXPECT_EQ(object_of("<x:\\u0041\\U00000042>"), "<x:AB>");
  EXPECT_EQ(object_of(R"("\u0041\t\'")"), R"("A\t'")");
  EXPECT_EQ(object_of("\"a\tb\""), R"("a\tb")");
  EXPECT_EQ(object_of("\"x\"@EN-gb"), "\"x\"@en-gb");
  EXPECT_EQ(object_of("\"\\n\"@EN"), "\"\\n\"@en");
  EXPECT_EQ(object_of("\"x\"^^<http://www.w3.org/2001/XMLSchema#string>"), "\"x\"");
  EXPECT_EQ(object_of("\"\\\"\"^^<http://www.w3.org/2001/XMLSchema#string>"), R"("\"")");
  EXPECT_EQ(object_of("\"x\"^^<http://www.w3.org/2001/XMLSchema#strin\\u0067>"), "\"x\"");
  EXPECT_EQ(object_of("\"1\"^^<x:\\u0074>"), "\"1\"^^<x:t>");
}

TEST(NtriplesLine, SpellingsHaveNoControlCharacters) {
  EXPECT_EQ(object_of("\"\\u001B[31m\""), R"("\u001B[31m")");
  EXPECT_EQ(object_of("\"\x7F\""), R"("\u007F")");
  EXPECT_EQ(object_of("\"\xC2\x9B\""), R"("\u009B")");
  EXPECT_EQ(object_of("<x:\xC2\x9B>"), "<x:\\u009B>");
}

TEST(NtriplesLine, KeepsUnicodeAsItIs) {
  EXPECT_EQ(object_of("\"\\u00E9\\U0001F426\""), "\"\xC3\xA9\xF0\x9F\x90\xA6\"");
  EXPECT_EQ(object_of("_:\xC3\xA9"), "_:\xC3\xA9");
}

TEST(NtriplesLine, AnythingElseIsRefusedWhereItIs) {
  const Refusal refusals[] = {
      {"<x:s> <x:p> <x:o>", 18, "'.'"},
      {"<x:s> <x:p> .", 13, "an object is"},
      {"<x:s> <x:p> <x:o> . <x:s>", 21, "comment"},
      {"\"s\" <x:p> <x:o> .", 1, "a subject is"},
      {"<x:s> _:p <x:o> .", 7, "a predicate is"},
      {"<x:s> \"p\" <x:o> .", 7, "a predicate is"},
      {"<s> <x:p> <x:o> .", 2, "scheme"},
      {"<x:s <x:p> <x:o> .", 5, "cannot contain"},
      {"<x:s\\u0020> <x:p> <x:o> .", 5, "cannot contain"},
      {"<x:s\\n> <x:p> <x:o> .", 5, "escape"},
      {"<x:s> <x:p> <x:o", 17, "'>'"},
      {"<x:s> <x:p> \"o .", 17, "'\"'"},
      {"<x:s> <x:p> \"\\q\" .", 14, "escape"},
      {"<x:s> <x:p> \"\\u00G0\" .", 14, "4 hexadecimal"},
      {"<x:s> <x:p> \"\\uD800\" .", 14, "no character"},
      {"<x:s> <x:p> \"\\U00110000\" .", 14, "no character"},
      {"<x:s> <x:p> \"\xC3\" .", 14, "UTF-8"},
      {"<x:s> <x:p> \"\xC3\xA9\xC0\x80\" .", 15, "UTF-8"},
      {"<x:s> <x:p> \"a\rb\" .", 15, "carriage return"},
      {"<x:s> <x:p> \"o\"@ .", 17, "language"},
      {"<x:s> <x:p> \"o\"@en- .", 20, "language"},
      {"<x:s> <x:p> \"o\"^<x:t> .", 16, "datatype"},
      {"<x:s> <x:p> \"o\"^^ <x:t> .", 16, "datatype"},
      {"_: <x:p> <x:o> .", 3, "label"},
      {"_a <x:p> <x:o> .", 2, "_:"},
      {"_:-a <x:p> <x:o> .", 3, "label"},
  };
  LineParser parser;
  for (const Refusal& refusal : refusals) {
    const auto triple = parser.parse(refusal.line);
    ASSERT_FALSE(triple) << refusal.line;
    EXPECT_EQ(triple.error().code, ErrorCode::bad_format);
    EXPECT_EQ(parser.column(), refusal.column) << refusal.line;
    EXPECT_NE(triple.error().message.find(refusal.why), std::string::npos)
        << refusal.line << ": " << triple.error().message;
  }
}

TEST(Spelling, GivesBackTheTextItWasMadeFrom) {
  for (const std::string text : {"", "plain", "\"quoted\" \\ back", "\t\b\n\r\f\x01\x7F",
                                 "\xC2\x80\xC3\xA9\xF0\x9F\x90\xA6"}) {
    const std::string spelling = spell_string(text);
    EXPECT_EQ(plain_text(spelling), text);
    EXPECT_TRUE(is_string(spelling));
    EXPECT_EQ(object_of(spelling), spelling);
  }
  EXPECT_EQ(plain_text("<http://a/b>"), "http://a/b");
  EXPECT_EQ(plain_text(spell_integer(-7)), "-7");
  EXPECT_EQ(plain_text("_:b0"), "_:b0");
}

}  // namespace
}  // namespace godwit::graph
