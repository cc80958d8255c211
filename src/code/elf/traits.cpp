#include "code/elf/traits.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/fail.hpp"

namespace godwit::code {
namespace {

// Calls that leave a thread of this code's own behind them.
constexpr std::array<std::string_view, 8> kThreadStarters = {
    "pthread_create",
    "thrd_create",
    "clone",
    "timer_create",
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
    "_ZNSt6thread15_M_start_threadESt10shared_ptrINS_10_Impl_baseEE",
    "__kmpc_fork_call",
    "GOMP_parallel"};

bool starts_threads(const std::vector<std::string>& imports) {
  return std::any_of(imports.begin(), imports.end(), [](const std::string& symbol) {
    return std::find(kThreadStarters.begin(), kThreadStarters.end(), symbol) !=
           kThreadStarters.end();
  });
}

// Written once by the dynamic linker and read-only from then on.
bool is_relro(const ElfFile& file, const ElfSection& section) {
  if (file.is_object()) {
    for (const std::string_view prefix :
         {".data.rel.ro", ".init_array", ".fini_array", ".preinit_array", ".ctors", ".dtors"}) {
      if (section.name.starts_with(prefix)) return true;
    }
    return false;
  }
  return std::any_of(file.segments().begin(), file.segments().end(),
                     [&](const ElfSegment& segment) {
                       return segment.type == PT_GNU_RELRO && section.address >= segment.address &&
                              section.address - segment.address < segment.memory_bytes;
                     });
}

// Variables have symbols. What clang puts into .data for exception handling either has none
// (references to type_info) or a telling name (DW.ref.__gxx_personality_v0); aarch64 adds mapping
// symbols ("$d").
bool is_variable(const ElfSymbol& symbol) {
  return (symbol.type == STT_OBJECT || symbol.type == STT_NOTYPE) && !symbol.name.empty() &&
         !symbol.name.starts_with("DW.ref.") && !symbol.name.starts_with("$");
}

// Memory that code writes to, as far as sections tell.
bool is_writable_data(const ElfFile& file, const ElfSection& section) {
  constexpr std::uint64_t kWritable = SHF_WRITE | SHF_ALLOC;
  return (section.flags & kWritable) == kWritable && (section.flags & SHF_TLS) == 0 &&
         (section.type == SHT_PROGBITS || section.type == SHT_NOBITS) && section.size_bytes != 0 &&
         !is_relro(file, section);
}

bool has_variables(const ElfFile& file, const std::vector<ElfSymbol>& symbols) {
  std::vector<bool> writable;
  for (const ElfSection& section : file.sections()) {
    writable.push_back(is_writable_data(file, section));
    if (writable.back() && (section.type == SHT_NOBITS || symbols.empty())) return true;
  }
  return std::any_of(symbols.begin(), symbols.end(), [&](const ElfSymbol& symbol) {
    return symbol.section < writable.size() && writable[symbol.section] && is_variable(symbol);
  });
}

Result<std::vector<std::string>> imports_of(const ElfFile& file) {
  GODWIT_TRY(const auto symbols, file.symbols(file.is_object() ? SHT_SYMTAB : SHT_DYNSYM));
  std::vector<std::string> imports;
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.section == SHN_UNDEF && !symbol.name.empty()) imports.emplace_back(symbol.name);
  }
  std::sort(imports.begin(), imports.end());
  imports.erase(std::unique(imports.begin(), imports.end()), imports.end());
  return imports;
}

}  // namespace

Result<CodeTraits> traits_of(const ElfFile& file) {
  GODWIT_TRY(const auto symbols, file.symbols(SHT_SYMTAB));
  CodeTraits traits;
  traits.mutable_globals = has_variables(file, symbols);
  for (const ElfSection& section : file.sections()) {
    if (section.size_bytes == 0) continue;
    if ((section.flags & SHF_TLS) != 0) traits.thread_locals = true;
    // __cxa_finalize, which every shared object with destructors calls last, is in .fini_array.
    if (section.type == SHT_INIT_ARRAY || section.type == SHT_PREINIT_ARRAY ||
        section.name.starts_with(".ctors")) {
      traits.constructors = true;
    }
  }
  GODWIT_TRY(traits.imports, imports_of(file));
  traits.may_start_threads = starts_threads(traits.imports);
  return traits;
}

Result<std::string> unload_obstacle(const ElfFile& file) {
  GODWIT_TRY(const ElfFile::Dynamic dynamic, file.dynamic());
  if (dynamic.never_unloaded) return std::string("it is marked as never to be unloaded");
  GODWIT_TRY(const auto symbols, file.symbols(SHT_DYNSYM));
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.binding == STB_GNU_UNIQUE && symbol.section != SHN_UNDEF) {
      return fmt::format("it defines the process-wide unique symbol {}", symbol.name);
    }
  }
  GODWIT_TRY(const auto imports, imports_of(file));
  if (starts_threads(imports)) return std::string("it may have started threads");
  if (std::binary_search(imports.begin(), imports.end(), "__cxa_thread_atexit") ||
      std::binary_search(imports.begin(), imports.end(), "__cxa_thread_atexit_impl")) {
    return std::string("threads may still have to destroy its thread-local objects");
  }
  return std::string();
}

}  // namespace godwit::code
