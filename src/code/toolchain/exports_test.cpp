#include "code/toolchain/exports.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace godwit::code {
namespace {

std::string record(const std::string& name, const std::string& signature) {
  const std::string entry = "godwit_entry_" + name;
  godwit_export_v1 head{};
  head.flags = GODWIT_EXPORT_IDEMPOTENT;
  head.name_offset = sizeof head;
  head.name_size = static_cast<std::uint32_t>(name.size());
  head.signature_offset = head.name_offset + head.name_size;
  head.signature_size = static_cast<std::uint32_t>(signature.size());
  head.entry_offset = head.signature_offset + head.signature_size;
  head.entry_size = static_cast<std::uint32_t>(entry.size());
  std::string text = name + signature + entry;
  text.resize((text.size() + 7) / 8 * 8);
  head.size = static_cast<std::uint32_t>(sizeof head + text.size());
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + text;
}

// An object file with one section, godwit_exports, of that content.
std::string object_with(const std::string& exports) {
  const std::string names = std::string("\0.shstrtab\0godwit_exports\0", 26);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 1;
  Elf64_Shdr sections[3] = {};
  const std::size_t contents = sizeof header + sizeof sections;
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = contents;
  sections[1].sh_size = names.size();
  sections[2].sh_name = 11;
  sections[2].sh_type = SHT_PROGBITS;
  sections[2].sh_offset = contents + names.size();
  sections[2].sh_size = exports.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
         std::string(reinterpret_cast<const char*>(sections), sizeof sections) + names + exports;
}

Result<std::vector<FunctionInfo>> read(const std::string& exports) {
  const std::string object = object_with(exports);
  return read_exports(ElfFile::parse(bytes_of(object)).value());
}

TEST(Exports, AreReadInOrder) {
  const auto functions = read(record("norm", "(f64) -> f64") + record("b", "() -> unit"));
  ASSERT_TRUE(functions) << functions.error().message;
  ASSERT_EQ(functions->size(), 2U);
  EXPECT_EQ((*functions)[0].name, "norm");
  EXPECT_EQ((*functions)[0].signature, "(f64) -> f64");
  EXPECT_EQ((*functions)[0].entry, "godwit_entry_norm");
  EXPECT_TRUE((*functions)[0].is_idempotent());
  EXPECT_FALSE((*functions)[0].is_inline());
  EXPECT_EQ((*functions)[1].name, "b");
}

TEST(Exports, ZerosBetweenRecordsArePadding) {
  const auto functions = read(record("a", "() -> unit") + std::string(24, '\0') +
                              record("b", "() -> unit") + std::string(8, '\0'));
  ASSERT_TRUE(functions) << functions.error().message;
  EXPECT_EQ(functions->size(), 2U);
}

TEST(Exports, NoneIsNoError) {
  const auto functions = read("");
  ASSERT_TRUE(functions);
  EXPECT_TRUE(functions->empty());
}

TEST(Exports, LyingLengthsAreRefused) {
  const std::string good = record("norm", "(f64) -> f64");
  // Every 32-bit field but the flags, with every lie that could leave the record.
  for (const std::size_t field : {0U, 2U, 3U, 4U, 5U, 6U, 7U}) {
    for (const std::uint32_t lie : {0x7fffffffU, 0xffffffffU, 0xfffffff8U, 4096U}) {
      std::string bad = good;
      std::memcpy(bad.data() + field * sizeof lie, &lie, sizeof lie);
      EXPECT_FALSE(read(bad)) << field << ' ' << lie;
    }
  }
  for (std::size_t size = 1; size < good.size(); ++size) {
    EXPECT_FALSE(read(good.substr(0, size))) << size;
  }
}

TEST(Exports, HostileNamesAreRefused) {
  EXPECT_FALSE(read(record("../x", "() -> unit")));
  EXPECT_FALSE(read(record("", "() -> unit")));
}

}  // namespace
}  // namespace godwit::code
