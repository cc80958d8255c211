// What code is made for, and what a node can run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace godwit::code {

// Values are those of the manifest; a manifest may name machines this build does not know.
enum class Machine : std::uint8_t { none = 0, x86_64 = 1, aarch64 = 2 };
enum class SliceKind : std::uint8_t { none = 0, native = 1, bitcode = 2 };

// "unknown" for values this build does not know.
[[nodiscard]] std::string_view to_string(Machine machine) noexcept;
[[nodiscard]] std::string_view to_string(SliceKind kind) noexcept;
// "x86_64" or "aarch64"; the triples "x86_64-linux-gnu" and so on are accepted too.
[[nodiscard]] std::optional<Machine> parse_machine(std::string_view text) noexcept;
// The triple code for that machine is compiled for; empty for an unknown one.
[[nodiscard]] std::string_view triple_of(Machine machine) noexcept;
// The machine this process runs on.
[[nodiscard]] Machine host_machine() noexcept;

struct TargetInfo {
  Machine machine = host_machine();
  bool has_jit = false;
  std::uint16_t llvm_major = 0;  // of the JIT, when there is one
};

}  // namespace godwit::code
