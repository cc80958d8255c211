#include "code/bundle/bundle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/folder_for_test.hpp"
#include "code/bundle/bundle_for_test.hpp"
#include "code/bundle/limits.hpp"

namespace godwit::code {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class BundleFile : public testing::Test {
 protected:
  TestFolder directory_;
};

void expect_same(const Bundle& a, const Bundle& b) {
  EXPECT_EQ(a.id(), b.id());
  EXPECT_EQ(a.name(), b.name());
  EXPECT_EQ(a.producer(), b.producer());
  EXPECT_EQ(a.needs(), b.needs());
  ASSERT_EQ(a.functions().size(), b.functions().size());
  for (std::size_t i = 0; i < a.functions().size(); ++i) {
    EXPECT_EQ(a.functions()[i].name, b.functions()[i].name);
    EXPECT_EQ(a.functions()[i].signature, b.functions()[i].signature);
    EXPECT_EQ(a.functions()[i].entry, b.functions()[i].entry);
    EXPECT_EQ(a.functions()[i].flags, b.functions()[i].flags);
  }
  ASSERT_EQ(a.slices().size(), b.slices().size());
  for (std::size_t i = 0; i < a.slices().size(); ++i) {
    EXPECT_EQ(a.slices()[i].id, b.slices()[i].id);
    EXPECT_EQ(a.slices()[i].kind, b.slices()[i].kind);
    EXPECT_EQ(a.slices()[i].machine, b.slices()[i].machine);
    EXPECT_EQ(a.slices()[i].triple, b.slices()[i].triple);
    EXPECT_EQ(a.slices()[i].size_bytes, b.slices()[i].size_bytes);
    EXPECT_EQ(a.slices()[i].producer, b.slices()[i].producer);
    EXPECT_EQ(a.slices()[i].llvm_major, b.slices()[i].llvm_major);
    EXPECT_EQ(a.slices()[i].stateful(), b.slices()[i].stateful());
    EXPECT_EQ(a.slices()[i].traits.may_start_threads, b.slices()[i].traits.may_start_threads);
    EXPECT_EQ(a.slices()[i].traits.imports, b.slices()[i].traits.imports);
    EXPECT_EQ(text_of(a.slices()[i].bytes), text_of(b.slices()[i].bytes));
  }
}

TEST_F(BundleFile, ReadsWhatItWrote) {
  const Bundle made = sample_bundle();
  const fs::path path = directory_ / "sample.gdw";
  ASSERT_TRUE(made.write(path));
  const auto read = Bundle::open(path);
  ASSERT_TRUE(read) << read.error().message;
  expect_same(made, *read);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()), 1)
      << "a temporary file was left behind";
}

TEST_F(BundleFile, ReplacesAnOlderFile) {
  const fs::path path = directory_ / "sample.gdw";
  std::ofstream(path) << "something older";
  ASSERT_TRUE(sample_bundle().write(path));
  EXPECT_TRUE(Bundle::open(path));
}

TEST_F(BundleFile, MissingFileIsNotFoundAndNamesIt) {
  const auto read = Bundle::open(directory_ / "absent.gdw");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::not_found);
  EXPECT_THAT(read.error().message, HasSubstr("absent.gdw"));
}

TEST_F(BundleFile, WritingToAMissingDirectoryLeavesNothing) {
  const auto written = sample_bundle().write(directory_ / "no" / "such.gdw");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::not_found);
}

TEST(Bundle, IdIsTheHashOfTheManifest) {
  const Bundle bundle = sample_bundle();
  EXPECT_EQ(bundle.id(), ContentId::of(bundle.manifest_bytes()));
  EXPECT_EQ(bundle.slices()[0].id, ContentId::of(bundle.slices()[0].bytes));
}

TEST(Bundle, SameContentHasTheSameId) {
  EXPECT_EQ(sample_bundle().id(), sample_bundle().id());
}

TEST(Bundle, SlicesLieAlignedInTheFile) {
  const auto file = sample_bundle().to_bytes();
  ASSERT_TRUE(file);
  const auto parsed = Bundle::parse(Buffer::copy_of(file->view()));
  ASSERT_TRUE(parsed);
  for (const SliceInfo& slice : parsed->slices()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slice.bytes.data()) % kSliceAlignment, 0U);
  }
}

TEST(Bundle, FindsFunctionsByName) {
  const Bundle bundle = sample_bundle();
  EXPECT_EQ(bundle.find("norm"), 0U);
  EXPECT_EQ(bundle.find("chase"), 1U);
  EXPECT_EQ(bundle.find("nor"), std::nullopt);
  EXPECT_TRUE(bundle.functions()[1].is_inline());
  EXPECT_TRUE(bundle.functions()[1].is_idempotent());
  EXPECT_FALSE(bundle.functions()[0].is_inline());
}

TEST(Bundle, ArrivesAsManifestAndThenTheSliceThatIsWanted) {
  const Bundle made = sample_bundle();
  const auto empty = Bundle::from_manifest(made.manifest_bytes());
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(empty->id(), made.id());
  EXPECT_TRUE(empty->slices()[1].bytes.empty());

  const auto filled = empty->with_slice(made.slices()[1].bytes);
  ASSERT_TRUE(filled);
  EXPECT_EQ(text_of(filled->slices()[1].bytes), text_of(made.slices()[1].bytes));
  EXPECT_TRUE(filled->slices()[0].bytes.empty());
  EXPECT_TRUE(empty->slices()[1].bytes.empty()) << "the original changed";
  EXPECT_GT(filled->memory_bytes(), empty->memory_bytes());

  const auto written = filled->to_bytes();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::invalid_argument);
}

TEST(Bundle, SliceBytesOutliveTheBundleTheyCameFrom) {
  Bundle original = sample_bundle();
  auto bundle = Bundle::from_manifest(original.manifest_bytes());
  ASSERT_TRUE(bundle);
  for (const SliceInfo& slice : original.slices()) {
    bundle = bundle->with_slice(slice.bytes);
    ASSERT_TRUE(bundle);
  }
  original = Bundle();
  expect_same(sample_bundle(), *bundle);
  EXPECT_TRUE(bundle->to_bytes());
}

TEST(Bundle, RefusesASliceThatIsNotItsOwn) {
  const Bundle bundle = sample_bundle();
  const auto refused = bundle.with_slice(bytes_of("altered code"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt_code);
  EXPECT_THAT(refused.error().message, HasSubstr(bundle.slices()[0].id.short_hex()));
}

TEST(Bundle, KeepsSlicesOfMachinesItDoesNotKnow) {
  BundleBuilder builder("future");
  builder.function(sample_function("f"))
      .slice({.kind = SliceKind::native,
              .machine = static_cast<Machine>(77),
              .triple = "riscv64-linux-gnu"},
             Buffer::copy_of(bytes_of("code")));
  const auto bundle = std::move(builder).build();
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(bundle->slices()[0].triple, "riscv64-linux-gnu");
  EXPECT_EQ(to_string(bundle->slices()[0].machine), "unknown");
}

}  // namespace
}  // namespace godwit::code
