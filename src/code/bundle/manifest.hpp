// The manifest as plain structs, and its pure translation to and from bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "code/bundle/target.hpp"
#include "godwit/error.hpp"
#include "godwit/mobile_abi.h"

namespace godwit::code {

struct FunctionInfo {
  std::string name = {};
  std::string signature = {};  // docs/types.md
  std::string entry = {};      // the symbol that follows the mobile ABI
  std::uint32_t flags = 0;     // GODWIT_EXPORT_...

  [[nodiscard]] bool is_inline() const noexcept { return (flags & GODWIT_EXPORT_INLINE) != 0; }
  [[nodiscard]] bool is_idempotent() const noexcept {
    return (flags & GODWIT_EXPORT_IDEMPOTENT) != 0;
  }
};

// What a slice's code keeps and asks for, as read from the code without running it.
struct CodeTraits {
  bool mutable_globals = false;
  bool thread_locals = false;
  bool constructors = false;
  bool may_start_threads = false;
  std::vector<std::string> imports = {};  // undefined symbols, sorted

  // Code with state gets one tier: loading it twice would duplicate the state.
  [[nodiscard]] bool stateful() const noexcept {
    return mutable_globals || thread_locals || constructors;
  }
};

struct SliceInfo {
  ContentId id = {};
  SliceKind kind = SliceKind::none;
  Machine machine = Machine::none;
  std::string triple = {};
  std::uint64_t size_bytes = 0;
  std::string producer = {};
  std::uint16_t llvm_major = 0;  // bitcode only
  CodeTraits traits = {};
  // Set by Bundle, which owns them; empty where only the manifest is here.
  Bytes bytes = {};

  [[nodiscard]] bool stateful() const noexcept { return traits.stateful(); }
};

struct Manifest {
  std::string name = {};
  std::string producer = {};
  std::vector<FunctionInfo> functions = {};
  std::vector<SliceInfo> slices = {};
  std::vector<std::string> needs = {};  // shared libraries by soname
};

// Errors of both: bad_format (a limit of limits.hpp, a name, a duplicate). What encode() accepts,
// decode() accepts; the same manifest gives the same bytes.
[[nodiscard]] Result<Buffer> encode(const Manifest& manifest);
[[nodiscard]] Result<Manifest> decode_manifest(Bytes bytes);

// The rules a manifest follows beyond its encoding.
[[nodiscard]] Status check_manifest(const Manifest& manifest);

}  // namespace godwit::code
