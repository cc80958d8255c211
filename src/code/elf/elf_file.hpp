// A bounds-checked reader of 64-bit little-endian ELF: enough to see what an object or a shared
// object is, defines and needs, without running it. Any bytes may be given; none are trusted.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "code/bundle/target.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;   // SHT_...
  std::uint64_t flags = 0;  // SHF_...
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  std::uint32_t link = 0;
  Bytes contents;  // empty for SHT_NOBITS
};

struct ElfSegment {
  std::uint32_t type = 0;   // PT_...
  std::uint32_t flags = 0;  // PF_...
  std::uint64_t address = 0;
  std::uint64_t memory_bytes = 0;
  Bytes contents;
};

struct ElfSymbol {
  std::string_view name;
  std::uint64_t value = 0;
  std::uint64_t size_bytes = 0;
  std::uint8_t type = 0;      // STT_...
  std::uint8_t binding = 0;   // STB_...
  std::uint16_t section = 0;  // index, or SHN_...
};

// Borrows the image: every view points into it.
class ElfFile {
 public:
  // Reads the headers. Errors: corrupt_code (not ELF, or a header points outside).
  [[nodiscard]] static Result<ElfFile> parse(Bytes image);

  // Machine::none for one this build does not know; machine_number() is ELF's own.
  [[nodiscard]] Machine machine() const noexcept;
  [[nodiscard]] std::uint16_t machine_number() const noexcept { return machine_; }
  [[nodiscard]] bool is_shared_object() const noexcept;
  [[nodiscard]] bool is_object() const noexcept;
  [[nodiscard]] const std::vector<ElfSection>& sections() const noexcept { return sections_; }
  [[nodiscard]] const std::vector<ElfSegment>& segments() const noexcept { return segments_; }

  // The entries of all symbol tables of one type, SHT_SYMTAB or SHT_DYNSYM; empty if it has none.
  // Errors of this and the next: corrupt_code.
  [[nodiscard]] Result<std::vector<ElfSymbol>> symbols(std::uint32_t table_type) const;

  struct Dynamic {
    std::string_view soname;               // empty: none
    std::vector<std::string_view> needed;  // DT_NEEDED, in order
    bool never_unloaded = false;           // DF_1_NODELETE
    bool text_relocations = false;         // loading writes to code pages
  };
  [[nodiscard]] Result<Dynamic> dynamic() const;

 private:
  std::uint16_t type_ = 0;
  std::uint16_t machine_ = 0;
  std::vector<ElfSection> sections_;
  std::vector<ElfSegment> segments_;
};

}  // namespace godwit::code
