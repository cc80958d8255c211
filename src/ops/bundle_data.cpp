// The file of the ops bundle, as it was built, inside this program.
#include "ops/bundle_data.hpp"

// clang-format off
asm(".section .rodata.godwit_ops, \"a\", @progbits\n"
    ".balign 16\n"
    ".hidden godwit_ops_bundle_begin\n"
    ".hidden godwit_ops_bundle_end\n"
    ".globl godwit_ops_bundle_begin\n"
    ".globl godwit_ops_bundle_end\n"
    "godwit_ops_bundle_begin:\n"
    ".incbin \"" GODWIT_OPS_BUNDLE "\"\n"
    "godwit_ops_bundle_end:\n"
    ".previous\n");
// clang-format on

extern "C" {
extern const std::byte godwit_ops_bundle_begin[];
extern const std::byte godwit_ops_bundle_end[];
}

namespace godwit::ops {

Bytes bundle_file() noexcept {
  return {godwit_ops_bundle_begin, godwit_ops_bundle_end};
}

}  // namespace godwit::ops
