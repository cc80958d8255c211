#include "code/jit/debugger.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

// gdb's interface (its manual, "JIT Compilation Interface"). LLVM's library defines these two, and
// gdb would look at only one definition per process, so these are the ones to use.
extern "C" {
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  std::uint64_t symfile_size;
};
struct jit_descriptor {
  std::uint32_t version;
  std::uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
extern jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code();
}

namespace godwit::code::jit {
namespace {

enum Action : std::uint32_t { kNothing = 0, kRegister = 1, kUnregister = 2 };

std::mutex& descriptor_mutex() {
  static std::mutex mutex;  // the descriptor is one per process
  return mutex;
}

template <class T>
bool read_at(MutableBytes bytes, std::uint64_t offset, T& out) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return true;
}

// A name in the section header string table; empty if it does not end inside of it.
std::string_view name_at(MutableBytes bytes, const Elf64_Shdr& names, std::uint32_t index) {
  const std::uint64_t start = names.sh_offset + index;
  if (index >= names.sh_size || start >= bytes.size()) return {};
  const auto* text = reinterpret_cast<const char*>(bytes.data() + start);
  return {text, strnlen(text, bytes.size() - start)};
}

void place_sections(MutableBytes object, const std::map<std::string, std::uint64_t>& sections) {
  Elf64_Ehdr header;
  Elf64_Shdr names;
  if (!read_at(object, 0, header)) return;
  const auto at = [&](std::uint64_t index) { return header.e_shoff + index * sizeof(Elf64_Shdr); };
  if (!read_at(object, at(header.e_shstrndx), names)) return;
  for (std::uint64_t index = 0; index < header.e_shnum; ++index) {
    Elf64_Shdr section;
    if (!read_at(object, at(index), section)) return;
    const auto found = sections.find(std::string(name_at(object, names, section.sh_name)));
    if ((section.sh_flags & SHF_ALLOC) == 0 || found == sections.end()) continue;
    section.sh_addr = found->second;
    std::memcpy(object.data() + at(index), &section, sizeof section);
  }
}

}  // namespace

struct DebuggerEntry::Entry : jit_code_entry {};

DebuggerEntry::DebuggerEntry(MutableBytes object,
                             const std::map<std::string, std::uint64_t>& sections)
    : entry_(std::make_unique<Entry>()) {
  place_sections(object, sections);
  entry_->symfile_addr = reinterpret_cast<const char*>(object.data());
  entry_->symfile_size = object.size();
  const std::lock_guard lock(descriptor_mutex());
  entry_->prev_entry = nullptr;
  entry_->next_entry = __jit_debug_descriptor.first_entry;
  if (entry_->next_entry != nullptr) entry_->next_entry->prev_entry = entry_.get();
  __jit_debug_descriptor.first_entry = entry_.get();
  __jit_debug_descriptor.relevant_entry = entry_.get();
  __jit_debug_descriptor.action_flag = kRegister;
  __jit_debug_register_code();
  __jit_debug_descriptor.action_flag = kNothing;
}

DebuggerEntry::~DebuggerEntry() {
  const std::lock_guard lock(descriptor_mutex());
  if (entry_->next_entry != nullptr) entry_->next_entry->prev_entry = entry_->prev_entry;
  if (entry_->prev_entry != nullptr) {
    entry_->prev_entry->next_entry = entry_->next_entry;
  } else {
    __jit_debug_descriptor.first_entry = entry_->next_entry;
  }
  __jit_debug_descriptor.relevant_entry = entry_.get();
  __jit_debug_descriptor.action_flag = kUnregister;
  __jit_debug_register_code();
  __jit_debug_descriptor.action_flag = kNothing;
  __jit_debug_descriptor.relevant_entry = nullptr;
}

std::shared_ptr<PerfMap> PerfMap::from_environment() {
  const char* wish = std::getenv("GODWIT_PERF_MAP");  // NOLINT(concurrency-mt-unsafe)
  if (wish == nullptr || *wish == '\0' || std::strcmp(wish, "0") == 0) return nullptr;
  std::string path = fmt::format("/tmp/perf-{}.map", getpid());
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return nullptr;
  std::FILE* file = fdopen(fd, "a");
  if (file == nullptr) {
    close(fd);
    return nullptr;
  }
  return std::shared_ptr<PerfMap>(
      new PerfMap(file, std::move(path), std::strcmp(wish, "keep") == 0));
}

PerfMap::PerfMap(std::FILE* file, std::string path, bool keep)
    : file_(file), path_(std::move(path)), keep_(keep) {}

PerfMap::~PerfMap() {
  std::fclose(file_);
  if (!keep_) unlink(path_.c_str());
}

void PerfMap::add(std::uint64_t address, std::uint64_t size, std::string_view name) {
  const std::string line = fmt::format("{:x} {:x} {}\n", address, size, name);
  const std::lock_guard lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), file_);
  std::fflush(file_);
}

}  // namespace godwit::code::jit
