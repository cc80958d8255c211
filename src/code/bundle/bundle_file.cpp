// Bundles as files: preamble, manifest, slices (docs/bundle.md).
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/fail.hpp"
#include "code/bundle/bundle_state.hpp"
#include "code/bundle/file.hpp"
#include "code/bundle/limits.hpp"

namespace godwit::code {
namespace {

struct Preamble {
  std::array<char, 8> magic = {'G', 'O', 'D', 'W', 'I', 'T', '\0', '\1'};
  std::uint32_t manifest_bytes = 0;
  std::uint32_t reserved = 0;
  std::uint64_t total_bytes = 0;
  ContentId id;  // of the manifest
  std::uint64_t reserved_too = 0;
};
static_assert(sizeof(Preamble) == kSliceAlignment && std::is_trivially_copyable_v<Preamble>);

constexpr std::uint64_t align_up(std::uint64_t offset) {
  return (offset + kSliceAlignment - 1) / kSliceAlignment * kSliceAlignment;
}

// Where each slice starts, and in the end the file's size. Offsets follow from the sizes, so slices
// can neither overlap nor lie outside. No sum wraps: the manifest's check bounds all of them.
struct Layout {
  std::vector<std::uint64_t> offsets;
  std::uint64_t total_bytes = 0;
};

Layout layout_of(std::uint64_t manifest_bytes, const std::vector<SliceInfo>& slices) {
  Layout layout{.offsets = {}, .total_bytes = sizeof(Preamble) + manifest_bytes};
  for (const SliceInfo& slice : slices) {
    layout.offsets.push_back(align_up(layout.total_bytes));
    layout.total_bytes = layout.offsets.back() + slice.size_bytes;
  }
  return layout;
}

Result<Preamble> read_preamble(Bytes file) {
  Preamble preamble;
  if (file.size() < sizeof preamble ||
      std::memcmp(file.data(), preamble.magic.data(), preamble.magic.size()) != 0) {
    return fail(ErrorCode::bad_format,
                "this is not a bundle: it does not start as one; 'godwit cc' makes bundles");
  }
  std::memcpy(&preamble, file.data(), sizeof preamble);
  if (preamble.total_bytes != file.size()) {
    return fail(ErrorCode::bad_format,
                "the bundle has {} bytes but says {}: it was cut short or "
                "extended; copy or build it again",
                file.size(), preamble.total_bytes);
  }
  if (file.size() > kMaxBundleBytes || preamble.reserved != 0 || preamble.reserved_too != 0 ||
      preamble.manifest_bytes > kMaxManifestBytes ||
      preamble.manifest_bytes > file.size() - sizeof preamble) {
    return fail(ErrorCode::bad_format,
                "the bundle's preamble lies: {} bytes in all, {} of manifest", file.size(),
                preamble.manifest_bytes);
  }
  return preamble;
}

bool all_zero(Bytes bytes) {
  for (const std::byte byte : bytes) {
    if (byte != std::byte{0}) return false;
  }
  return true;
}

}  // namespace

Result<Bundle> Bundle::parse(Buffer file) {
  auto owner = std::make_shared<const Buffer>(std::move(file));
  const Bytes bytes = owner->view();
  GODWIT_TRY(const Preamble preamble, read_preamble(bytes));
  const Bytes manifest = bytes.subspan(sizeof preamble, preamble.manifest_bytes);
  if (ContentId::of(manifest) != preamble.id) {
    return fail(ErrorCode::bad_format,
                "the bundle's manifest does not have the hash its preamble names: the file was "
                "altered; copy or build it again");
  }
  Buffer manifest_copy = Buffer::copy_of(manifest);
  if (manifest_copy.size() != manifest.size()) {
    return fail(ErrorCode::out_of_memory, "no memory for a manifest of {} bytes", manifest.size());
  }
  GODWIT_TRY(auto state, state_of(std::move(manifest_copy)));

  std::vector<SliceInfo>& slices = state->slices;
  const Layout layout = layout_of(manifest.size(), slices);
  if (layout.total_bytes != bytes.size()) {
    return fail(ErrorCode::bad_format,
                "the slices of bundle '{}' end at byte {}, but the bundle has {} bytes",
                state->manifest->name, layout.total_bytes, bytes.size());
  }
  std::uint64_t end = sizeof preamble + manifest.size();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (!all_zero(bytes.subspan(end, layout.offsets[i] - end))) {
      return fail(ErrorCode::bad_format, "bundle '{}' hides bytes between its slices",
                  state->manifest->name);
    }
    const Bytes slice = bytes.subspan(layout.offsets[i], slices[i].size_bytes);
    if (const ContentId id = ContentId::of(slice); id != slices[i].id) {
      return fail(
          ErrorCode::corrupt_code,
          "slice {} ({} {}) of bundle '{}' has hash {}, its manifest says {}: the bytes were "
          "altered; copy or build it again",
          i, to_string(slices[i].kind), to_string(slices[i].machine), state->manifest->name,
          id.short_hex(), slices[i].id.short_hex());
    }
    slices[i].bytes = slice;
    end = layout.offsets[i] + slices[i].size_bytes;
  }
  state->owners.push_back(std::move(owner));
  return Bundle(std::move(state));
}

Result<Bundle> Bundle::open(const std::filesystem::path& path) {
  GODWIT_TRY(Buffer file, read_file(path, kMaxBundleBytes));
  Result<Bundle> bundle = parse(std::move(file));
  if (!bundle) {
    return fail(bundle.error().code, "cannot open '{}': {}", path.string(), bundle.error().message);
  }
  return bundle;
}

Result<Buffer> Bundle::to_bytes() const {
  const Bytes manifest = manifest_bytes();
  const Layout layout = layout_of(manifest.size(), slices());
  for (const SliceInfo& slice : slices()) {
    if (slice.bytes.empty()) {
      return fail(ErrorCode::invalid_argument,
                  "bundle '{}' cannot be written: the bytes of slice {} ({} {}) are not here",
                  name(), slice.id.short_hex(), to_string(slice.kind), to_string(slice.machine));
    }
  }
  if (layout.total_bytes > kMaxBundleBytes) {
    return fail(ErrorCode::too_large, "bundle '{}' takes {} bytes; the limit is {}", name(),
                layout.total_bytes, kMaxBundleBytes);
  }
  Buffer file = Buffer::allocate(layout.total_bytes);
  if (file.data() == nullptr) {
    return fail(ErrorCode::out_of_memory, "no memory for a bundle of {} bytes", layout.total_bytes);
  }
  std::memset(file.data(), 0, file.size());
  const Preamble preamble{.manifest_bytes = static_cast<std::uint32_t>(manifest.size()),
                          .total_bytes = layout.total_bytes,
                          .id = id()};
  std::memcpy(file.data(), &preamble, sizeof preamble);
  std::memcpy(file.data() + sizeof preamble, manifest.data(), manifest.size());
  for (std::size_t i = 0; i < slices().size(); ++i) {
    const Bytes slice = slices()[i].bytes;
    std::memcpy(file.data() + layout.offsets[i], slice.data(), slice.size());
  }
  return file;
}

Status Bundle::write(const std::filesystem::path& path) const {
  GODWIT_TRY(const Buffer file, to_bytes());
  return write_file_atomically(path, file.view());
}

}  // namespace godwit::code
