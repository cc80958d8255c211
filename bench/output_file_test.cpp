#include "output_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/folder_for_test.hpp"

namespace godwit::bench {
namespace {

namespace fs = std::filesystem;

// The current folder of each test is a new one.
class OutputFile : public testing::Test {
 protected:
  OutputFile() { fs::current_path(folder_.path()); }
  ~OutputFile() override { fs::current_path(before_); }

 private:
  fs::path before_ = fs::current_path();
  TestFolder folder_;
};

TEST_F(OutputFile, LiesInTheBuildFolderIfThereIsOne) {
  EXPECT_EQ(default_file("bench.json"), "bench.json");
  ASSERT_TRUE(fs::create_directory("build"));
  EXPECT_EQ(default_file("bench.json"), "build/bench.json");
}

TEST_F(OutputFile, ReplacesTheOneOfTheRunBefore) {
  ASSERT_TRUE(write_file("rows", "the many rows of the run before"));
  ASSERT_TRUE(write_file("rows", "rows"));
  std::ifstream file("rows");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "rows");
}

TEST_F(OutputFile, ThatCannotBeWrittenIsNamed) {
  const auto written = write_file("absent/rows", "rows");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::io);
  EXPECT_EQ(written.error().message,
            "cannot write absent/rows: No such file or directory; choose another file");
}

// What a disk says that is full, which comes only with the close.
TEST_F(OutputFile, ThatIsNotWrittenToItsEndIsAnError) {
  const auto written = write_file("/dev/full", "rows");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::io);
}

}  // namespace
}  // namespace godwit::bench
