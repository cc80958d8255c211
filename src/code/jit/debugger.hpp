// Names for loaded code in gdb (its JIT interface) and perf (its map file).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace godwit::code::jit {

// Shows an object to debuggers while it exists. Any thread.
class DebuggerEntry {
 public:
  // `object` is the ELF image as compiled; its sections get the addresses they were linked at, in
  // place. It must stay where it is for as long as the entry exists.
  DebuggerEntry(MutableBytes object, const std::map<std::string, std::uint64_t>& sections);
  ~DebuggerEntry();
  DebuggerEntry(const DebuggerEntry&) = delete;
  DebuggerEntry& operator=(const DebuggerEntry&) = delete;

 private:
  struct Entry;
  std::unique_ptr<Entry> entry_;
};

// The file in which perf looks up addresses outside of any mapped file. It only grows while code
// comes and goes, so it is written on request. Any thread.
class PerfMap {
 public:
  // Null unless GODWIT_PERF_MAP is set. "keep" leaves the file behind for a later `perf report`;
  // any other value has it removed with this object.
  [[nodiscard]] static std::shared_ptr<PerfMap> from_environment();
  ~PerfMap();
  PerfMap(const PerfMap&) = delete;
  PerfMap& operator=(const PerfMap&) = delete;

  void add(std::uint64_t address, std::uint64_t size, std::string_view name);

 private:
  PerfMap(std::FILE* file, std::string path, bool keep);
  std::mutex mutex_;
  std::FILE* file_;  // guarded by mutex_
  std::string path_;
  bool keep_;
};

}  // namespace godwit::code::jit
