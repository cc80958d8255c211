// Bundles as an enemy or a bad disk would write them. None is accepted, none does harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/seeds_for_test.hpp"
#include "code/bundle/bundle_for_test.hpp"
#include "code/bundle/limits.hpp"
#include "wire/manifest_generated.h"

namespace godwit::code {
namespace {

using testing::HasSubstr;

constexpr std::size_t kManifestSizeOffset = 8;
constexpr std::size_t kTotalSizeOffset = 16;
constexpr std::size_t kManifestOffset = 64;

std::string sample_file() {
  return std::string(text_of(sample_bundle().to_bytes()->view()));
}

bool is_rejected(const std::string& file) {
  const auto bundle = Bundle::parse(Buffer::copy_of(bytes_of(file)));
  return !bundle && !bundle.error().message.empty() &&
         (bundle.error().code == ErrorCode::bad_format ||
          bundle.error().code == ErrorCode::corrupt_code);
}

template <class T>
void overwrite(std::string& file, std::size_t offset, T value) {
  std::memcpy(file.data() + offset, &value, sizeof value);
}

TEST(HostileBundle, TheUntouchedFileIsAccepted) {
  EXPECT_FALSE(is_rejected(sample_file()));
}

TEST(HostileBundle, EveryFlippedBitIsNoticed) {
  const std::string good = sample_file();
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(is_rejected(bad)) << "bit " << bit;
  }
}

TEST(HostileBundle, EveryTruncationIsNoticed) {
  const std::string good = sample_file();
  for (std::size_t size = 0; size < good.size(); ++size) {
    std::string bad = good.substr(0, size);
    EXPECT_TRUE(is_rejected(bad)) << size;
    // Also when the preamble is made to agree.
    if (size < kManifestOffset) continue;
    overwrite(bad, kTotalSizeOffset, std::uint64_t{size});
    EXPECT_TRUE(is_rejected(bad)) << size;
  }
}

TEST(HostileBundle, LyingLengthsAreNoticed) {
  const std::string good = sample_file();
  for (const std::uint64_t lie :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{23}, good.size() - 1, good.size() + 1,
        std::uint64_t{1} << 31, ~std::uint64_t{0}, ~std::uint64_t{0} - 63}) {
    std::string bad = good;
    overwrite(bad, kTotalSizeOffset, lie);
    EXPECT_TRUE(is_rejected(bad)) << lie;
    bad = good;
    overwrite(bad, kManifestSizeOffset, static_cast<std::uint32_t>(lie));
    EXPECT_TRUE(is_rejected(bad)) << lie;
  }
  EXPECT_TRUE(is_rejected(good + "tail"));
}

// The manifest's own hash is right here, so its content has to convince.
TEST(HostileBundle, AlteredManifestsWithARightHashDoNoHarm) {
  const Bundle sample = sample_bundle();
  const Bytes good = sample.manifest_bytes();
  const Seed seed(42);
  std::mt19937 random(seed.value());
  std::size_t rejected = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string bad(text_of(good));
    const std::size_t changes = 1 + random() % 4;
    for (std::size_t change = 0; change < changes; ++change) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    bad.resize(random() % 8 == 0 ? random() % bad.size() : bad.size());
    const auto bundle = Bundle::from_manifest(bytes_of(bad));
    if (!bundle) {
      ++rejected;
      continue;
    }
    // What passes is a bundle of another identity and keeps every promise.
    for (const FunctionInfo& function : bundle->functions()) {
      EXPECT_EQ(function.name.find('/'), std::string::npos);
    }
  }
  EXPECT_GT(rejected, 200U);
}

std::string name_error(std::string name) {
  BundleBuilder builder("b");
  builder.function(
      {.name = std::move(name), .signature = "(u64) -> u64", .entry = "godwit_entry_f"});
  builder.slice(sample_slice(SliceKind::native, Machine::x86_64),
                Buffer::copy_of(bytes_of("code")));
  const auto bundle = std::move(builder).build();
  if (bundle) return "accepted";
  EXPECT_EQ(bundle.error().code, ErrorCode::bad_format);
  return bundle.error().message;
}

TEST(HostileBundle, NamesThatReachFilesOrTerminalsAreRefused) {
  using std::string_literals::operator""s;
  for (const std::string& name :
       {"../../etc/passwd"s, "a/b"s, "a\0b"s, "\x1b[2J"s, "a\nb"s, ""s, ".hidden"s, " "s,
        "caf\xc3\xa9"s, "\x7f"s, std::string(kMaxNameBytes + 1, 'x')}) {
    EXPECT_NE(name_error(name), "accepted") << name;
  }
  EXPECT_EQ(name_error(std::string(kMaxNameBytes, 'x')), "accepted");
  EXPECT_THAT(name_error("a/b"), HasSubstr("a/b"));
  EXPECT_THAT(name_error("\x1b[2J"), HasSubstr("?[2J")) << "a message must not carry escapes";
}

TEST(HostileBundle, DuplicateNamesAndSlicesAreRefused) {
  BundleBuilder twice("b");
  twice.function(sample_function("f")).function(sample_function("f"));
  twice.slice(sample_slice(SliceKind::native, Machine::x86_64), Buffer::copy_of(bytes_of("code")));
  EXPECT_FALSE(std::move(twice).build());

  BundleBuilder same("b");
  same.function(sample_function("f"));
  same.slice(sample_slice(SliceKind::native, Machine::x86_64), Buffer::copy_of(bytes_of("code")));
  same.slice(sample_slice(SliceKind::native, Machine::aarch64), Buffer::copy_of(bytes_of("code")));
  EXPECT_FALSE(std::move(same).build());
}

TEST(HostileBundle, SignaturesAreCheckedAgainstTheGrammar) {
  for (const char* signature : {"", "(", "(u64)->u64", "(nosuch) -> u64", "rm -rf"}) {
    BundleBuilder builder("b");
    builder.function({.name = "f", .signature = signature, .entry = "godwit_entry_f"});
    builder.slice(sample_slice(SliceKind::native, Machine::x86_64),
                  Buffer::copy_of(bytes_of("code")));
    EXPECT_FALSE(std::move(builder).build()) << signature;
  }
}

// A manifest the builder would not write: sizes whose sum wraps, a short id, an unknown format.
std::string raw_manifest(std::uint64_t size_bytes, std::size_t id_bytes, std::uint16_t format) {
  flatbuffers::FlatBufferBuilder builder;
  const auto function = wire::CreateFunctionDirect(builder, "f", "(u64) -> u64", "godwit_entry_f");
  std::vector<flatbuffers::Offset<wire::Slice>> slices;
  for (std::uint8_t i = 0; i < 2; ++i) {
    const std::vector<std::uint8_t> id(id_bytes, i);
    slices.push_back(wire::CreateSliceDirect(builder, &id, wire::SliceKind::native,
                                             wire::Machine::x86_64, "t", size_bytes, "p"));
  }
  const std::vector<flatbuffers::Offset<wire::Function>> functions = {function};
  wire::FinishManifestBuffer(
      builder, wire::CreateManifestDirect(builder, format, "b", "p", &functions, &slices));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

TEST(HostileBundle, SizesIdsAndFormatsThatCannotBeAreRefused) {
  EXPECT_TRUE(Bundle::from_manifest(bytes_of(raw_manifest(100, 32, kBundleFormat))));
  EXPECT_FALSE(Bundle::from_manifest(bytes_of(raw_manifest(0, 32, kBundleFormat))));
  EXPECT_FALSE(Bundle::from_manifest(bytes_of(raw_manifest(kMaxBundleBytes, 32, kBundleFormat))));
  EXPECT_FALSE(
      Bundle::from_manifest(bytes_of(raw_manifest(std::uint64_t{1} << 63, 32, kBundleFormat))));
  EXPECT_FALSE(Bundle::from_manifest(bytes_of(raw_manifest(100, 31, kBundleFormat))));
  const auto newer = Bundle::from_manifest(bytes_of(raw_manifest(100, 32, kBundleFormat + 1)));
  ASSERT_FALSE(newer);
  EXPECT_THAT(newer.error().message, HasSubstr("format 2"));
}

}  // namespace
}  // namespace godwit::code
