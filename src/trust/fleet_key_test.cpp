#include "trust/fleet_key.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/folder_for_test.hpp"

namespace godwit::trust {
namespace {

class KeyFile : public ::testing::Test {
 protected:
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(file()) << text;
    ::chmod(file().c_str(), mode);
  }
  [[nodiscard]] std::filesystem::path file() const { return directory_ / "fleet.key"; }

 private:
  TestFolder directory_;
};

TEST_F(KeyFile, SavedKeyLoadsAgainAndIsPrivate) {
  const FleetKey key = FleetKey::generate();
  ASSERT_TRUE(key.save(file()));
  struct stat info{};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const auto loaded = FleetKey::load(file());
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->hex(), key.hex());
}

TEST_F(KeyFile, SavingNeverOverwrites) {
  ASSERT_TRUE(FleetKey::generate().save(file()));
  EXPECT_EQ(FleetKey::generate().save(file()).error().code, ErrorCode::already_exists);
}

TEST_F(KeyFile, OthersMayNotReadIt) {
  write(FleetKey::generate().hex(), 0640);
  const auto loaded = FleetKey::load(file());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::permission);
  EXPECT_NE(loaded.error().message.find("chmod 600"), std::string::npos);
}

TEST_F(KeyFile, MissingAndMalformedFilesAreToldApart) {
  EXPECT_EQ(FleetKey::load(file()).error().code, ErrorCode::not_found);
  write("too short\n");
  EXPECT_EQ(FleetKey::load(file()).error().code, ErrorCode::bad_format);
  write(std::string(64, 'g'));
  EXPECT_EQ(FleetKey::load(file()).error().code, ErrorCode::bad_format);
  write(FleetKey::generate().hex() + "00");
  EXPECT_EQ(FleetKey::load(file()).error().code, ErrorCode::bad_format);
}

TEST(FleetKey, TagsDependOnKeyPurposeAndHowBytesAreSplit) {
  const FleetKey a = FleetKey::generate();
  const FleetKey b = FleetKey::generate();
  const Tag tag = a.tag("x", {bytes_of("ab"), bytes_of("c")});
  EXPECT_EQ(tag, a.tag("x", {bytes_of("ab"), bytes_of("c")}));
  EXPECT_NE(tag, a.tag("x", {bytes_of("a"), bytes_of("bc")}));
  EXPECT_NE(tag, a.tag("y", {bytes_of("ab"), bytes_of("c")}));
  EXPECT_NE(tag, b.tag("x", {bytes_of("ab"), bytes_of("c")}));
}

TEST(FleetKey, TheRelaysKeyIsTheSameForAllMembersAndIsNotTheirs) {
  const FleetKey key = FleetKey::generate();
  EXPECT_EQ(relay_key_of(key).hex(), relay_key_of(FleetKey::from_hex(key.hex()).value()).hex());
  EXPECT_NE(relay_key_of(key).hex(), key.hex());
  EXPECT_NE(relay_key_of(key).hex(), relay_key_of(FleetKey::generate()).hex());
}

}  // namespace
}  // namespace godwit::trust
