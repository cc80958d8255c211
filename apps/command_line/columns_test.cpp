#include "command_line/columns.hpp"

#include <gtest/gtest.h>

namespace godwit::cli {
namespace {

TEST(Columns, AlignAndLeaveNoSpaceAtTheEnd) {
  Columns columns({"NAME", ">CALLS", "WHY"});
  EXPECT_TRUE(columns.empty());
  columns.add({"longer name", "7", ""});
  columns.add({"n", "1234567", "pinned"});
  EXPECT_FALSE(columns.empty());
  EXPECT_EQ(columns.text("  "),
            "  NAME           CALLS  WHY\n"
            "  longer name        7\n"
            "  n            1234567  pinned\n");
}

TEST(Columns, AreAsWideAsTheirCharactersWhichMayBeSeveralBytes) {
  Columns columns({"NAME", ">RANK"});
  columns.add({"Zoë Ångström", "7"});
  columns.add({"n", "±½"});
  EXPECT_EQ(columns.text(),
            "NAME          RANK\n"
            "Zoë Ångström     7\n"
            "n               ±½\n");
}

TEST(Columns, TextFromElsewhereCannotCommandTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31m\nb\x7f é"), "a?[31m?b? é");
}

}  // namespace
}  // namespace godwit::cli
