#include "code/elf/elf_file.hpp"

#include <elf.h>

#include <cstring>
#include <optional>

#include "base/fail.hpp"

namespace godwit::code {
namespace {

tl::unexpected<Error> corrupt(std::string_view why) {
  return fail(ErrorCode::corrupt_code, "the code is not a usable ELF file: {}", why);
}

// `size` bytes at `offset`, or nothing if they are not all there. Never computes offset + size.
std::optional<Bytes> part(Bytes image, std::uint64_t offset, std::uint64_t size) {
  if (offset > image.size() || size > image.size() - offset) return std::nullopt;
  return image.subspan(offset, size);
}

// Structures are copied out, since nothing says they are aligned.
template <class T>
T read_at(Bytes table, std::size_t index) {
  T value;
  std::memcpy(&value, table.data() + index * sizeof(T), sizeof(T));
  return value;
}

// The NUL-terminated string at `offset`, or nothing if the table ends before the NUL.
std::optional<std::string_view> string_at(Bytes table, std::uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  const std::string_view rest = text_of(table.subspan(offset));
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

Result<std::vector<ElfSection>> read_sections(Bytes image, const Elf64_Ehdr& header) {
  std::vector<ElfSection> sections;
  if (header.e_shnum == 0) return sections;
  const auto table =
      part(image, header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  if (header.e_shentsize != sizeof(Elf64_Shdr) || !table) {
    return corrupt("its section table lies outside the file");
  }
  std::vector<std::uint32_t> name_offsets;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto raw = read_at<Elf64_Shdr>(*table, i);
    ElfSection section{.name = {},
                       .type = raw.sh_type,
                       .flags = raw.sh_flags,
                       .address = raw.sh_addr,
                       .size_bytes = raw.sh_size,
                       .link = raw.sh_link,
                       .contents = {}};
    if (raw.sh_type != SHT_NOBITS && raw.sh_type != SHT_NULL) {
      const auto contents = part(image, raw.sh_offset, raw.sh_size);
      if (!contents) return corrupt("a section lies outside the file");
      section.contents = *contents;
    }
    name_offsets.push_back(raw.sh_name);
    sections.push_back(section);
  }
  if (header.e_shstrndx >= sections.size()) return corrupt("it has no section names");
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].type == SHT_NULL) continue;
    const auto name = string_at(sections[header.e_shstrndx].contents, name_offsets[i]);
    if (!name) return corrupt("a section name lies outside its table");
    sections[i].name = *name;
  }
  return sections;
}

Result<std::vector<ElfSegment>> read_segments(Bytes image, const Elf64_Ehdr& header) {
  std::vector<ElfSegment> segments;
  if (header.e_phnum == 0) return segments;
  const auto table =
      part(image, header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  if (header.e_phentsize != sizeof(Elf64_Phdr) || !table) {
    return corrupt("its program headers lie outside the file");
  }
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto raw = read_at<Elf64_Phdr>(*table, i);
    const auto contents = part(image, raw.p_offset, raw.p_filesz);
    if (!contents) return corrupt("a segment lies outside the file");
    if (raw.p_type == PT_LOAD && raw.p_memsz < raw.p_filesz) {
      return corrupt("a segment is larger in the file than in memory");
    }
    segments.push_back({.type = raw.p_type,
                        .flags = raw.p_flags,
                        .address = raw.p_vaddr,
                        .memory_bytes = raw.p_memsz,
                        .contents = *contents});
  }
  return segments;
}

}  // namespace

Result<ElfFile> ElfFile::parse(Bytes image) {
  if (image.size() < sizeof(Elf64_Ehdr) || std::memcmp(image.data(), ELFMAG, SELFMAG) != 0) {
    return corrupt("it does not start as one");
  }
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return corrupt("it is not 64-bit little-endian");
  }
  ElfFile file;
  file.type_ = header.e_type;
  file.machine_ = header.e_machine;
  GODWIT_TRY(file.sections_, read_sections(image, header));
  GODWIT_TRY(file.segments_, read_segments(image, header));
  return file;
}

Machine ElfFile::machine() const noexcept {
  switch (machine_) {
    case EM_X86_64: return Machine::x86_64;
    case EM_AARCH64: return Machine::aarch64;
    default: return Machine::none;
  }
}

bool ElfFile::is_shared_object() const noexcept {
  return type_ == ET_DYN;
}
bool ElfFile::is_object() const noexcept {
  return type_ == ET_REL;
}

Result<std::vector<ElfSymbol>> ElfFile::symbols(std::uint32_t table_type) const {
  std::vector<ElfSymbol> symbols;
  for (const ElfSection& section : sections_) {
    if (section.type != table_type) continue;
    if (section.link >= sections_.size()) return corrupt("a symbol table has no names");
    const Bytes names = sections_[section.link].contents;
    // Entry 0 is the null symbol.
    for (std::size_t i = 1; i < section.contents.size() / sizeof(Elf64_Sym); ++i) {
      const auto raw = read_at<Elf64_Sym>(section.contents, i);
      const auto name = string_at(names, raw.st_name);
      if (!name) return corrupt("a symbol's name lies outside its table");
      symbols.push_back({.name = *name,
                         .value = raw.st_value,
                         .size_bytes = raw.st_size,
                         .type = static_cast<std::uint8_t>(ELF64_ST_TYPE(raw.st_info)),
                         .binding = static_cast<std::uint8_t>(ELF64_ST_BIND(raw.st_info)),
                         .section = raw.st_shndx});
    }
  }
  return symbols;
}

Result<ElfFile::Dynamic> ElfFile::dynamic() const {
  Dynamic dynamic;
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_DYNAMIC) continue;
    if (section.link >= sections_.size()) return corrupt("its dynamic section has no names");
    const Bytes names = sections_[section.link].contents;
    for (std::size_t i = 0; i < section.contents.size() / sizeof(Elf64_Dyn); ++i) {
      const auto raw = read_at<Elf64_Dyn>(section.contents, i);
      if (raw.d_tag == DT_NULL) break;
      if (raw.d_tag == DT_FLAGS_1) dynamic.never_unloaded = (raw.d_un.d_val & DF_1_NODELETE) != 0;
      if (raw.d_tag == DT_TEXTREL ||
          (raw.d_tag == DT_FLAGS && (raw.d_un.d_val & DF_TEXTREL) != 0)) {
        dynamic.text_relocations = true;
      }
      if (raw.d_tag != DT_NEEDED && raw.d_tag != DT_SONAME) continue;
      const auto name = string_at(names, raw.d_un.d_val);
      if (!name) return corrupt("a library's name lies outside its table");
      if (raw.d_tag == DT_SONAME) {
        dynamic.soname = *name;
      } else {
        dynamic.needed.push_back(*name);
      }
    }
  }
  return dynamic;
}

}  // namespace godwit::code
