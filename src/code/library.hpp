// Loaded code, and what loads it. Implemented by native/ (dlopen) and by the JIT plug-in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "godwit/error.hpp"
#include "godwit/mobile_abi.h"

namespace godwit::code {

// Code of one slice in this process, constructors run. Destroying it runs destructors and gives
// the memory back; its owner makes sure no call is inside. Thread-safe.
class Library {
 public:
  virtual ~Library() = default;
  // The entry with that symbol name, or null.
  [[nodiscard]] virtual godwit_entry entry(std::string_view symbol) const = 0;
  // Memory that unloading gives back, as well as it can be told.
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;
  // Why this library must not be unloaded now (it may have threads running, thread-local
  // destructors pending), or nothing.
  [[nodiscard]] virtual std::optional<std::string> pinned() const { return std::nullopt; }
};

enum class Tier : std::uint8_t {
  native,     // compiled by the author's toolchain
  fast,       // bitcode, compiled quickly
  optimised,  // bitcode, compiled for this very CPU
};
inline constexpr std::size_t kTierCount = 3;
[[nodiscard]] std::string_view to_string(Tier tier) noexcept;

// A slice after the part of loading that takes long. Made by a Loader, and only of use to it.
class CompiledCode {
 public:
  virtual ~CompiledCode() = default;
};

struct LoadRequest {
  ContentId slice;                 // identity of `code`, already verified
  Bytes code;                      // borrowed during load(), compile() and find_compiled()
  std::string name;                // for people, debuggers and profilers
  std::vector<std::string> needs;  // shared libraries by soname, e.g. "libz.so.1"
  Tier tier = Tier::native;
  std::shared_ptr<const CompiledCode> compiled = {};  // of this slice and tier, if it is at hand
};

// Turns slices into libraries. Its members may take long and are called from loading threads,
// several at a time. Errors: corrupt_code, no_slice (wrong machine), missing_library,
// missing_symbol, compile_failed, out_of_memory.
class Loader {
 public:
  virtual ~Loader() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<Library>> load(const LoadRequest& request) = 0;

  // For loaders that compile. Compiles and runs nothing: load() with the result is quick, and may
  // happen on another thread. Null: there is nothing to do before load().
  [[nodiscard]] virtual Result<std::shared_ptr<const CompiledCode>> compile(const LoadRequest&) {
    return nullptr;
  }
  // What an earlier compile() of the slice for that tier left, also in another process; null if
  // nothing did. Needs the slice's id and not its code. Quick once is_open().
  [[nodiscard]] virtual std::shared_ptr<const CompiledCode> find_compiled(const LoadRequest&) {
    return nullptr;
  }
  // False: something large has yet to be loaded, and the next call of another member does it.
  [[nodiscard]] virtual bool is_open() const { return true; }
};

}  // namespace godwit::code
