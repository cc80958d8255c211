#include "code/elf/elf_file.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>

#include "base/seeds_for_test.hpp"
#include "code/elf/traits.hpp"

namespace godwit::code {
namespace {

// This test's own executable is a rich ELF file; its head is what is worth corrupting.
const std::string& own_image() {
  static const std::string image = [] {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return image;
}

// A shared object with nothing but headers: two sections, one segment.
std::string small_image() {
  std::string image(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 2 * sizeof(Elf64_Shdr), '\0');
  const std::string names = std::string("\0.shstrtab\0", 11);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = EM_AARCH64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shoff = sizeof header + sizeof(Elf64_Phdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shstrndx = 1;
  Elf64_Shdr section{};
  section.sh_name = 1;
  section.sh_type = SHT_STRTAB;
  section.sh_offset = image.size();
  section.sh_size = names.size();
  std::memcpy(image.data(), &header, sizeof header);
  std::memcpy(image.data() + header.e_shoff + sizeof section, &section, sizeof section);
  return image + names;
}

// Uses everything the reader offers; only the absence of harm is of interest.
void use(const std::string& image) {
  const auto elf = ElfFile::parse(bytes_of(image));
  if (!elf) {
    EXPECT_EQ(elf.error().code, ErrorCode::corrupt_code);
    return;
  }
  std::size_t total = 0;
  for (const std::uint32_t table : {std::uint32_t{SHT_SYMTAB}, std::uint32_t{SHT_DYNSYM}}) {
    if (const auto symbols = elf->symbols(table)) {
      for (const ElfSymbol& symbol : *symbols) total += symbol.name.size();
    }
  }
  if (const auto dynamic = elf->dynamic()) total += dynamic->soname.size();
  if (const auto traits = traits_of(*elf)) total += traits->imports.size();
  if (const auto obstacle = unload_obstacle(*elf)) total += obstacle->size();
  EXPECT_LT(total, image.size() * 100);
}

TEST(ElfFile, ReadsARealExecutable) {
  const auto elf = ElfFile::parse(bytes_of(own_image()));
  ASSERT_TRUE(elf) << elf.error().message;
  EXPECT_EQ(elf->machine(), host_machine());
  EXPECT_FALSE(elf->is_object());
  const auto symbols = elf->symbols(SHT_DYNSYM);
  ASSERT_TRUE(symbols);
  EXPECT_FALSE(symbols->empty());
  const auto dynamic = elf->dynamic();
  ASSERT_TRUE(dynamic);
  EXPECT_NE(std::find(dynamic->needed.begin(), dynamic->needed.end(), "libc.so.6"),
            dynamic->needed.end());
}

TEST(ElfFile, SeesTheMachineAndTheType) {
  const std::string image = small_image();
  const auto elf = ElfFile::parse(bytes_of(image));
  ASSERT_TRUE(elf) << elf.error().message;
  EXPECT_EQ(elf->machine(), Machine::aarch64);
  EXPECT_TRUE(elf->is_shared_object());
  EXPECT_EQ(elf->sections()[1].name, ".shstrtab");
}

TEST(ElfFile, RefusesOtherFormats) {
  EXPECT_FALSE(ElfFile::parse({}));
  EXPECT_FALSE(ElfFile::parse(bytes_of("#!/bin/sh")));
  std::string big_endian = small_image();
  big_endian[EI_DATA] = ELFDATA2MSB;
  EXPECT_FALSE(ElfFile::parse(bytes_of(big_endian)));
  std::string narrow = small_image();
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_FALSE(ElfFile::parse(bytes_of(narrow)));
}

TEST(ElfFile, RefusesHeadersThatPointOutside) {
  const auto with = [](auto change) {
    std::string image = small_image();
    Elf64_Ehdr header;
    std::memcpy(&header, image.data(), sizeof header);
    change(header);
    std::memcpy(image.data(), &header, sizeof header);
    return static_cast<bool>(ElfFile::parse(bytes_of(image)));
  };
  EXPECT_TRUE(with([](Elf64_Ehdr&) {}));
  EXPECT_FALSE(with([](Elf64_Ehdr& header) { header.e_shoff = ~0ULL; }));
  EXPECT_FALSE(with([](Elf64_Ehdr& header) { header.e_shoff = ~0ULL - 127; }));
  EXPECT_FALSE(with([](Elf64_Ehdr& header) { header.e_shnum = 0xffff; }));
  EXPECT_FALSE(with([](Elf64_Ehdr& header) { header.e_shstrndx = 2; }));
  EXPECT_FALSE(with([](Elf64_Ehdr& header) { header.e_shentsize = 1; }));
  EXPECT_FALSE(with([](Elf64_Ehdr& header) { header.e_phoff = 1ULL << 40; }));
  EXPECT_FALSE(with([](Elf64_Ehdr& header) { header.e_phentsize = 0; }));
}

TEST(ElfFile, EveryTruncationOfASmallFileIsRefused) {
  const std::string good = small_image();
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ElfFile::parse(bytes_of(good.substr(0, size)))) << size;
  }
}

TEST(ElfFile, RandomDamageDoesNoHarm) {
  const Seed seed(7);
  std::mt19937 random(seed.value());
  const std::string good = small_image();
  for (int i = 0; i < 5000; ++i) {
    std::string bad = good;
    for (std::size_t change = 0; change <= random() % 4; ++change) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    use(bad);
  }
  // The tables of a large file: headers at the front, section headers at the end.
  std::string bad = own_image();
  for (int i = 0; i < 30; ++i) {
    const std::size_t from_end = 1 + random() % 4096;
    const std::size_t at = i % 2 == 0 ? 64 + random() % 4096 : bad.size() - from_end;
    const char before = std::exchange(bad[at], static_cast<char>(random()));
    use(bad);
    bad[at] = before;
  }
}

}  // namespace
}  // namespace godwit::code
