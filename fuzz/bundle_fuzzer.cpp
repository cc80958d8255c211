// Bundles, manifests and ELF files from the network: any bytes at all must be harmless to read.
#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "code/bundle/bundle.hpp"
#include "code/elf/traits.hpp"
#include "code/toolchain/exports.hpp"

namespace {

using godwit::Buffer;
using godwit::Bytes;
namespace code = godwit::code;

// What is accepted must hold together: a bundle read back from its own bytes is the same one.
void check(const code::Bundle& bundle) {
  const auto file = bundle.to_bytes();
  if (!file) return;
  const auto again = code::Bundle::parse(Buffer::copy_of(file->view()));
  if (!again || again->id() != bundle.id()) std::abort();
}

void read_elf(Bytes bytes) {
  const auto elf = code::ElfFile::parse(bytes);
  if (!elf) return;
  (void)elf->symbols(SHT_SYMTAB);
  (void)code::traits_of(*elf);
  (void)code::unload_obstacle(*elf);
  (void)code::read_exports(*elf);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  if (const auto bundle = code::Bundle::parse(Buffer::copy_of(bytes))) check(*bundle);
  // The preamble's hash keeps a fuzzer out of the manifest; here it goes in directly.
  if (const auto bundle = code::Bundle::from_manifest(bytes)) {
    (void)bundle->with_slice(bytes);
    for (const code::FunctionInfo& function : bundle->functions()) {
      if (!bundle->find(function.name)) std::abort();
    }
  }
  read_elf(bytes);
  return 0;
}
