// What a bundle may at most contain. A reader refuses more; a builder refuses to make it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace godwit::code {

inline constexpr std::uint64_t kMaxBundleBytes = std::uint64_t{1} << 30;
inline constexpr std::uint32_t kMaxManifestBytes = std::uint32_t{32} << 20;
inline constexpr std::size_t kMaxFunctions = 65536;
inline constexpr std::size_t kMaxSlices = 64;
inline constexpr std::size_t kMaxNeeds = 256;
inline constexpr std::size_t kMaxImports = 65536;  // per slice
inline constexpr std::size_t kMaxNameBytes = 1024;
inline constexpr std::size_t kMaxSymbolBytes = 16384;  // mangled C++ names get long

// Slices start at multiples of this, so that a mapped bundle can be used in place.
inline constexpr std::size_t kSliceAlignment = 64;

inline constexpr std::uint16_t kBundleFormat = 1;

}  // namespace godwit::code
