// A small bundle for tests; its slices are not code.
#pragma once

#include <string>
#include <utility>

#include "code/bundle/bundle.hpp"

namespace godwit::code {

inline FunctionInfo sample_function(std::string name) {
  std::string entry = "godwit_entry_" + name;
  return {.name = std::move(name), .signature = "(u64) -> u64", .entry = std::move(entry)};
}

inline SliceInfo sample_slice(SliceKind kind, Machine machine) {
  return {.kind = kind,
          .machine = machine,
          .triple = std::string(triple_of(machine)),
          .producer = "clang 19.1.7",
          .llvm_major = static_cast<std::uint16_t>(kind == SliceKind::bitcode ? 19 : 0),
          .traits = {.mutable_globals = machine == Machine::aarch64, .imports = {"memcpy"}}};
}

inline Bundle sample_bundle() {
  FunctionInfo chase = sample_function("chase");
  chase.flags = GODWIT_EXPORT_INLINE | GODWIT_EXPORT_IDEMPOTENT;
  BundleBuilder builder("sample");
  builder.producer("clang 19.1.7").needs({"libz.so.1"});
  builder.function(sample_function("norm")).function(std::move(chase));
  builder.slice(sample_slice(SliceKind::native, Machine::x86_64),
                Buffer::copy_of(bytes_of("native code for x86_64, of no particular length")));
  builder.slice(sample_slice(SliceKind::bitcode, Machine::x86_64),
                Buffer::copy_of(bytes_of("BC bitcode for x86_64")));
  builder.slice(sample_slice(SliceKind::native, Machine::aarch64),
                Buffer::copy_of(bytes_of(std::string(300, 'a'))));
  return std::move(builder).build().value();
}

}  // namespace godwit::code
