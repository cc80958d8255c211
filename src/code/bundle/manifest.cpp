#include "code/bundle/manifest.hpp"

#include <cstring>

#include "base/fail.hpp"
#include "code/bundle/limits.hpp"
#include "wire/manifest_generated.h"

namespace godwit::code {
namespace {

// Deep enough for Manifest > Slice > string; tables are the manifest, functions and slices.
constexpr std::size_t kMaxDepth = 4;
constexpr std::size_t kMaxTables = 1 + kMaxFunctions + kMaxSlices;

using Strings = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

std::string text(const flatbuffers::String* string) {
  return string->str();
}

std::vector<std::string> texts(const Strings* strings) {
  std::vector<std::string> result;
  if (strings == nullptr) return result;
  result.reserve(strings->size());
  for (const flatbuffers::String* string : *strings) result.push_back(string->str());
  return result;
}

FunctionInfo to_info(const wire::Function& function) {
  return {.name = text(function.name()),
          .signature = text(function.signature()),
          .entry = text(function.entry()),
          .flags = (function.is_inline() ? std::uint32_t{GODWIT_EXPORT_INLINE} : 0U) |
                   (function.idempotent() ? std::uint32_t{GODWIT_EXPORT_IDEMPOTENT} : 0U)};
}

Result<SliceInfo> to_info(const wire::Slice& slice) {
  if (slice.id()->size() != ContentId::kSize) {
    return fail(ErrorCode::bad_format, "a slice id of the bundle has {} bytes instead of {}",
                slice.id()->size(), ContentId::kSize);
  }
  SliceInfo info{.kind = static_cast<SliceKind>(slice.kind()),
                 .machine = static_cast<Machine>(slice.machine()),
                 .triple = text(slice.triple()),
                 .size_bytes = slice.size_bytes(),
                 .producer = text(slice.producer()),
                 .llvm_major = slice.llvm_major(),
                 .traits = {.mutable_globals = slice.mutable_globals(),
                            .thread_locals = slice.thread_locals(),
                            .constructors = slice.constructors(),
                            .may_start_threads = slice.may_start_threads(),
                            .imports = texts(slice.imports())}};
  std::memcpy(info.id.digest.data(), slice.id()->data(), ContentId::kSize);
  return info;
}

flatbuffers::Offset<wire::Slice> add(flatbuffers::FlatBufferBuilder& builder,
                                     const SliceInfo& slice) {
  const CodeTraits& traits = slice.traits;
  const auto id = builder.CreateVector(
      reinterpret_cast<const std::uint8_t*>(slice.id.digest.data()), ContentId::kSize);
  const auto triple = builder.CreateString(slice.triple);
  const auto producer = builder.CreateString(slice.producer);
  const auto imports = builder.CreateVectorOfStrings(traits.imports);
  return wire::CreateSlice(builder, id, static_cast<wire::SliceKind>(slice.kind),
                           static_cast<wire::Machine>(slice.machine), triple, slice.size_bytes,
                           producer, slice.llvm_major, traits.mutable_globals, traits.thread_locals,
                           traits.constructors, traits.may_start_threads, imports);
}

}  // namespace

Result<Buffer> encode(const Manifest& manifest) {
  GODWIT_CHECK(check_manifest(manifest));
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::Function>> functions;
  for (const FunctionInfo& function : manifest.functions) {
    const auto name = builder.CreateString(function.name);
    const auto signature = builder.CreateString(function.signature);
    const auto entry = builder.CreateString(function.entry);
    functions.push_back(wire::CreateFunction(builder, name, signature, entry, function.is_inline(),
                                             function.is_idempotent()));
  }
  std::vector<flatbuffers::Offset<wire::Slice>> slices;
  for (const SliceInfo& slice : manifest.slices) slices.push_back(add(builder, slice));
  const auto name = builder.CreateString(manifest.name);
  const auto producer = builder.CreateString(manifest.producer);
  const auto all_functions = builder.CreateVector(functions);
  const auto all_slices = builder.CreateVector(slices);
  const auto needs = builder.CreateVectorOfStrings(manifest.needs);
  wire::FinishManifestBuffer(builder, wire::CreateManifest(builder, kBundleFormat, name, producer,
                                                           all_functions, all_slices, needs));
  if (builder.GetSize() > kMaxManifestBytes) {
    return fail(ErrorCode::bad_format, "the manifest of '{}' takes {} bytes; the limit is {}",
                manifest.name, builder.GetSize(), kMaxManifestBytes);
  }
  Buffer bytes =
      Buffer::copy_of(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
  if (bytes.empty()) {
    return fail(ErrorCode::out_of_memory, "no memory for the manifest of '{}'", manifest.name);
  }
  return bytes;
}

Result<Manifest> decode_manifest(Bytes bytes) {
  if (bytes.size() > kMaxManifestBytes) {
    return fail(ErrorCode::bad_format, "the manifest has {} bytes; the limit is {}", bytes.size(),
                kMaxManifestBytes);
  }
  // Accessors read scalars in place: the verifier's alignment checks are relative to the start.
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint64_t) != 0) {
    const Buffer aligned = Buffer::copy_of(bytes);
    if (aligned.size() != bytes.size()) {
      return fail(ErrorCode::out_of_memory, "no memory to read a manifest of {} bytes",
                  bytes.size());
    }
    return decode_manifest(aligned.view());
  }
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(),
                                 kMaxDepth, kMaxTables);
  if (!wire::VerifyManifestBuffer(verifier)) {
    return fail(ErrorCode::bad_format,
                "the {} bytes are not a bundle's manifest: cut short, altered, or something else",
                bytes.size());
  }
  const wire::Manifest& encoded = *wire::GetManifest(bytes.data());
  if (encoded.format() != kBundleFormat) {
    return fail(ErrorCode::bad_format,
                "the bundle has format {}; this Godwit reads format {}: build it again with "
                "'godwit cc' of this version",
                encoded.format(), kBundleFormat);
  }
  if (encoded.functions()->size() > kMaxFunctions || encoded.slices()->size() > kMaxSlices) {
    return fail(ErrorCode::bad_format,
                "the bundle lists {} functions and {} slices; limits: {}, {}",
                encoded.functions()->size(), encoded.slices()->size(), kMaxFunctions, kMaxSlices);
  }
  Manifest manifest{.name = text(encoded.name()),
                    .producer = text(encoded.producer()),
                    .needs = texts(encoded.needs())};
  for (const wire::Function* function : *encoded.functions()) {
    manifest.functions.push_back(to_info(*function));
  }
  for (const wire::Slice* slice : *encoded.slices()) {
    GODWIT_TRY(SliceInfo info, to_info(*slice));
    manifest.slices.push_back(std::move(info));
  }
  GODWIT_CHECK(check_manifest(manifest));
  return manifest;
}

}  // namespace godwit::code
