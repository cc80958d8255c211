// Bundles, manifests and ELF files from the network: any bytes at all must be harmless to read.
//
// Input: one byte chooses. A file as it is; or an ELF file; or a manifest (its size in 16 bits
// first) and bytes for slices. Hashes would keep a fuzzer out of everything behind them, so around
// such a manifest a file is made whose hashes are right.
#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "code/bundle/bundle.hpp"
#include "code/bundle/choose_slice.hpp"
#include "code/bundle/limits.hpp"
#include "code/elf/traits.hpp"
#include "code/toolchain/exports.hpp"
#include "wire/manifest_generated.h"

namespace {

using godwit::Buffer;
using godwit::Bytes;
using godwit::ContentId;
namespace code = godwit::code;

constexpr std::uint64_t kPreambleBytes = 64;
constexpr std::size_t kMaxSliceBytes = 8192;

void require(bool condition) {
  if (!condition) std::abort();
}

void read_elf(Bytes bytes) {
  const auto elf = code::ElfFile::parse(bytes);
  if (!elf) return;
  (void)elf->symbols(SHT_SYMTAB);
  (void)code::traits_of(*elf);
  (void)code::unload_obstacle(*elf);
  (void)code::read_exports(*elf);
}

// What is accepted must hold together: a bundle read back from its own bytes is the same one, and
// so is one put together from its manifest and its slices.
void check(const code::Bundle& bundle) {
  for (const code::FunctionInfo& function : bundle.functions()) {
    require(bundle.find(function.name).has_value());
  }
  for (const bool has_jit : {false, true}) {
    (void)code::choose_slice(bundle, {.has_jit = has_jit, .llvm_major = 19});
  }
  (void)code::describe_slices(bundle);
  auto again = code::Bundle::from_manifest(bundle.manifest_bytes());
  require(again && again->id() == bundle.id());
  for (const code::SliceInfo& slice : bundle.slices()) {
    if (slice.bytes.empty()) continue;
    again = again->with_slice(slice.bytes);
    require(again.has_value());
    read_elf(slice.bytes);
  }
  const auto file = bundle.to_bytes();
  if (!file) return;
  const auto parsed = code::Bundle::parse(Buffer::copy_of(file->view()));
  require(parsed && parsed->id() == bundle.id());
}

void read_file(Bytes file) {
  if (const auto bundle = code::Bundle::parse(Buffer::copy_of(file))) check(*bundle);
}

void append(std::vector<std::byte>& out, Bytes bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// The slices that the manifest announces, cut from `material`, with zeros where it runs out; their
// hashes go into the manifest.
std::vector<std::byte> make_slices(std::vector<std::byte>& manifest, Bytes material) {
  std::vector<std::byte> slices;
  const auto decoded = code::decode_manifest(manifest);
  if (!decoded) return slices;
  // Both readers list the slices in the manifest's order.
  const auto* const written = godwit::wire::GetManifest(manifest.data())->slices();
  std::size_t at = kPreambleBytes + manifest.size();
  for (std::size_t i = 0; i < decoded->slices.size(); ++i) {
    const std::uint64_t size = decoded->slices[i].size_bytes;
    if (size > kMaxSliceBytes) return slices;
    const std::size_t padding =
        (code::kSliceAlignment - at % code::kSliceAlignment) % code::kSliceAlignment;
    slices.resize(slices.size() + padding);
    std::vector<std::byte> bytes(
        material.begin(), material.begin() + static_cast<std::ptrdiff_t>(
                                                 std::min<std::size_t>(material.size(), size)));
    material = material.subspan(bytes.size());
    bytes.resize(size);
    const ContentId id = ContentId::of(bytes);
    auto* const place =
        const_cast<std::uint8_t*>(written->Get(static_cast<unsigned>(i))->id()->data());
    std::memcpy(place, id.digest.data(), ContentId::kSize);
    append(slices, bytes);
    at += padding + size;
  }
  return slices;
}

void read_manifest(Bytes input) {
  std::uint16_t size = 0;
  if (input.size() < sizeof size) return;
  std::memcpy(&size, input.data(), sizeof size);
  input = input.subspan(sizeof size);
  const Bytes written = input.first(std::min<std::size_t>(size, input.size()));
  if (const auto bundle = code::Bundle::from_manifest(written)) check(*bundle);

  std::vector<std::byte> manifest(written.begin(), written.end());
  const auto slices = make_slices(manifest, input.subspan(written.size()));
  // docs/bundle.md: magic, sizes, the manifest's hash.
  std::vector<std::byte> file;
  append(file, godwit::bytes_of({"GODWIT\0\1", 8}));
  append(file, godwit::bytes_of_value(static_cast<std::uint64_t>(manifest.size())));
  append(file, godwit::bytes_of_value(kPreambleBytes + manifest.size() + slices.size()));
  const ContentId id = ContentId::of(manifest);
  append(file, {id.digest.data(), ContentId::kSize});
  append(file, godwit::bytes_of_value(std::uint64_t{0}));
  append(file, manifest);
  append(file, slices);
  read_file(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes bytes = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0] % 3) {
    case 0: read_manifest(bytes); break;
    case 1: read_elf(bytes); break;
    default: read_file(bytes); break;
  }
  return 0;
}
