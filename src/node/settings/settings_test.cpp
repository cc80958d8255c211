#include "node/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "node/settings/table.hpp"
#include "node/settings/toml_file.hpp"

namespace godwit::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Environment = std::map<std::string, std::string>;

// Loads with exactly these sources; the process's environment stays out of it.
class SettingsTest : public testing::Test {
 protected:
  ~SettingsTest() override { std::filesystem::remove(file_); }

  std::string write_file(const std::string& text) {
    std::ofstream(file_) << text;
    return file_;
  }
  Result<Configuration> load(const std::string& file, const Environment& environment,
                             decltype(Configuration::Sources::flags) flags) {
    return Configuration::load(
        {.file = file,
         .flags = std::move(flags),
         .environment = [environment](const std::string& name) -> std::optional<std::string> {
           const auto found = environment.find(name);
           if (found == environment.end()) return std::nullopt;
           return found->second;
         }});
  }
  std::string error_of(const std::string& file, const Environment& environment,
                       decltype(Configuration::Sources::flags) flags) {
    const auto loaded = load(file, environment, std::move(flags));
    if (loaded) return "no error";
    return loaded.error().message;
  }
  static const SettingValue& value_of(const Configuration& configuration, std::string_view name) {
    for (const SettingValue& value : configuration.values()) {
      if (value.name == name) return value;
    }
    ADD_FAILURE() << name;
    return configuration.values().front();
  }

  const std::string file_ =
      testing::TempDir() + "godwit-settings-" + std::to_string(::getpid()) + ".toml";
};

TEST_F(SettingsTest, NothingGivenMeansDefaults) {
  const auto loaded = load("", {}, {}).value();
  EXPECT_EQ(loaded.settings().spin_us, Settings{}.spin_us);
  EXPECT_EQ(loaded.settings().jit, "auto");
  EXPECT_THAT(loaded.settings().listen, IsEmpty());
  for (const SettingValue& value : loaded.values()) {
    EXPECT_EQ(value.source, SettingSource::standard) << value.name;
    EXPECT_THAT(value.where, IsEmpty()) << value.name;
  }
}

TEST_F(SettingsTest, FlagsWinOverTheEnvironmentWhichWinsOverTheFile) {
  const std::string file = write_file("spin_us = 1\nworkers = 2\ncredits = 3\n");
  const auto loaded =
      load(file, {{"GODWIT_SPIN_US", "10"}, {"GODWIT_WORKERS", "20"}}, {{"spin_us", {"100"}}})
          .value();
  EXPECT_EQ(loaded.settings().spin_us, 100);
  EXPECT_EQ(loaded.settings().workers, 20U);
  EXPECT_EQ(loaded.settings().credits, 3U);
}

TEST_F(SettingsTest, EachValueRemembersWhereItCameFrom) {
  const std::string file = write_file("# a comment\nspin_us = 1\n");
  const auto loaded = load(file, {{"GODWIT_WORKERS", "20"}}, {{"credits", {"7"}}}).value();
  EXPECT_EQ(loaded.source_of("spin_us"), SettingSource::file);
  EXPECT_EQ(value_of(loaded, "spin_us").where, file + ", line 2");
  EXPECT_EQ(loaded.source_of("workers"), SettingSource::environment);
  EXPECT_EQ(value_of(loaded, "workers").where, "GODWIT_WORKERS");
  EXPECT_EQ(loaded.source_of("credits"), SettingSource::flag);
  EXPECT_EQ(value_of(loaded, "credits").where, "--credits");
  EXPECT_EQ(value_of(loaded, "credits").text, "7");
  EXPECT_EQ(loaded.source_of("jit"), SettingSource::standard);
}

TEST_F(SettingsTest, TheEnvironmentMayNameTheFile) {
  const std::string file = write_file("name = \"from-file\"\n");
  const auto loaded = load("", {{"GODWIT_CONFIG", file}}, {}).value();
  EXPECT_EQ(loaded.settings().name, "from-file");
}

TEST_F(SettingsTest, ListsComeAsArraysCommasOrRepeatedFlags) {
  const std::string file = write_file("listen = [\"tcp:127.0.0.1:0\", \"shm:/run/a.sock\"]\n");
  EXPECT_THAT(load(file, {}, {}).value().settings().listen,
              ElementsAre("tcp:127.0.0.1:0", "shm:/run/a.sock"));
  const Environment two = {{"GODWIT_LISTEN", "tcp:127.0.0.1:1,tcp:127.0.0.1:2"}};
  EXPECT_THAT(load(file, two, {}).value().settings().listen,
              ElementsAre("tcp:127.0.0.1:1", "tcp:127.0.0.1:2"));
  EXPECT_THAT(load(file, two, {{"listen", {"tcp:127.0.0.1:3"}}}).value().settings().listen,
              ElementsAre("tcp:127.0.0.1:3"));
}

TEST_F(SettingsTest, AnUnknownKeyIsAnErrorThatNamesTheNearestKnownOne) {
  const std::string file = write_file("name = \"a\"\nspin_usec = 5\n");
  EXPECT_EQ(error_of(file, {}, {}),
            file + ", line 2: there is no setting 'spin_usec'; did you mean 'spin_us'?");
  write_file("completely_different = 5\n");
  EXPECT_THAT(error_of(file, {}, {}), HasSubstr("`godwit config` lists them"));
}

TEST_F(SettingsTest, ABadValueNamesItsSource) {
  EXPECT_THAT(error_of("", {{"GODWIT_SPIN_US", "abc"}}, {}),
              HasSubstr("GODWIT_SPIN_US=abc: expected a whole number"));
  EXPECT_THAT(error_of("", {}, {{"credits", {"0"}}}),
              HasSubstr("--credits 0: must be from 1 to 65536"));
  EXPECT_THAT(error_of("", {}, {{"spin_us", {"99999999999999999999"}}}), HasSubstr("must be from"));
  EXPECT_THAT(error_of("", {}, {{"spin_us", {"5x"}}}), HasSubstr("expected a whole number"));
  const std::string file = write_file("jit = \"maybe\"\n");
  EXPECT_THAT(error_of(file, {}, {}),
              HasSubstr("line 1: jit = maybe: expected one of auto|preload|off"));
}

TEST_F(SettingsTest, AValueOfTheWrongShapeIsAnError) {
  EXPECT_THAT(error_of(write_file("spin_us = [1, 2]\n"), {}, {}), HasSubstr("expected one value"));
  EXPECT_THAT(error_of(write_file("spin_us = 1.5\n"), {}, {}), HasSubstr("whole number"));
  EXPECT_THAT(error_of(write_file("[node]\nspin_us = 1\n"), {}, {}),
              HasSubstr("line 1: node: expected text, a number"));
}

TEST_F(SettingsTest, BadSyntaxIsAnErrorThatNamesTheLine) {
  const auto loaded = load(write_file("name = \"a\"\nspin_us = = 5\n"), {}, {});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::bad_format);
  EXPECT_THAT(loaded.error().message, HasSubstr("line 2"));
}

TEST_F(SettingsTest, AMissingFileIsNotFoundAndAHugeOneRefused) {
  EXPECT_EQ(load(file_, {}, {}).error().code, ErrorCode::not_found);
  write_file("# " + std::string(kMaxSettingsFileBytes, 'x'));
  EXPECT_EQ(load(file_, {}, {}).error().code, ErrorCode::bad_format);
}

TEST_F(SettingsTest, AddressesNamesAndIdsAreChecked) {
  EXPECT_THAT(error_of("", {}, {{"listen", {"nonsense"}}}), HasSubstr("--listen nonsense: "));
  EXPECT_THAT(error_of("", {}, {{"join", {"sim:4"}}}), HasSubstr("simulated"));
  EXPECT_THAT(error_of("", {}, {{"name", {"../escape"}}}), HasSubstr("letters, digits"));
  EXPECT_THAT(error_of("", {}, {{"id", {"12"}}}), HasSubstr("16 hexadecimal digits"));
  EXPECT_TRUE(load("", {}, {{"id", {"00000000000000ab"}}}));
}

TEST_F(SettingsTest, ChannelsAreCheckedAndTheirPasswordsAreNotShown) {
  const auto loaded =
      load("", {}, {{"channel", {"a redis://me:geheim@host/0 min_size=1k", "b file:/x"}}}).value();
  EXPECT_THAT(loaded.settings().channel,
              ElementsAre("a redis://me:geheim@host/0 min_size=1k", "b file:/x"));
  EXPECT_EQ(value_of(loaded, "channel").text, "a redis://me:***@host/0 min_size=1k,b file:/x");
  const std::string error = error_of("", {}, {{"channel", {"a redis://:geheim@host/0 what"}}});
  EXPECT_THAT(error, HasSubstr("--channel a redis://:***@host/0 what: channel a: 'what' is not"));
}

TEST_F(SettingsTest, EverySettingHasAFlagAVariableHelpAndATextThatReadsBack) {
  const Settings defaults;
  Settings copy;
  for (const Setting& setting : setting_table()) {
    EXPECT_TRUE(setting.flag().starts_with("--")) << setting.name;
    EXPECT_THAT(setting.flag(), testing::Not(HasSubstr("_")));
    EXPECT_GT(setting.help.size(), 10U) << setting.name;
    const std::string text = text_of(setting, defaults);
    if (text.empty()) {
      EXPECT_FALSE(setting.standard.empty()) << setting.name << " has a default nobody can read";
      continue;
    }
    EXPECT_TRUE(assign(setting, std::vector{text}, copy)) << setting.name << " = " << text;
  }
}

}  // namespace
}  // namespace godwit::node
