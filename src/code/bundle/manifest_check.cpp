#include <string_view>
#include <unordered_set>

#include "base/fail.hpp"
#include "code/bundle/limits.hpp"
#include "code/bundle/manifest.hpp"
#include "code/bundle/names.hpp"
#include "code/types/type.hpp"

namespace godwit::code {
namespace {

Status check_count(std::string_view what, std::size_t count, std::size_t limit) {
  if (count <= limit) return {};
  return fail(ErrorCode::bad_format, "the bundle lists {} {}; the limit is {}", count, what, limit);
}

// Canonical, so that comparing signatures is comparing strings.
Status check_signature(const FunctionInfo& function) {
  GODWIT_CHECK(check_text("signature", function.signature, kTypeTextLimit));
  const auto parsed = parse_signature(function.signature);
  if (!parsed) {
    return fail(ErrorCode::bad_format, "the signature of '{}' is not valid: {}", function.name,
                parsed.error().message);
  }
  if (const std::string canonical = parsed->text(); canonical != function.signature) {
    return fail(ErrorCode::bad_format, "the signature of '{}' is '{}'; its canonical form is '{}'",
                function.name, printable(function.signature), printable(canonical));
  }
  return {};
}

Status check_functions(const std::vector<FunctionInfo>& functions) {
  GODWIT_CHECK(check_count("functions", functions.size(), kMaxFunctions));
  if (functions.empty()) return fail(ErrorCode::bad_format, "the bundle has no functions");
  std::unordered_set<std::string_view> names;
  for (const FunctionInfo& function : functions) {
    GODWIT_CHECK(check_name("function name", function.name));
    GODWIT_CHECK(check_signature(function));
    GODWIT_CHECK(check_symbol("entry symbol", function.entry));
    if (!names.insert(function.name).second) {
      return fail(ErrorCode::bad_format, "two functions of the bundle are called '{}'",
                  function.name);
    }
  }
  return {};
}

Status check_slices(const std::vector<SliceInfo>& slices) {
  GODWIT_CHECK(check_count("slices", slices.size(), kMaxSlices));
  if (slices.empty()) return fail(ErrorCode::bad_format, "the bundle has no slices");
  std::unordered_set<ContentId> ids;
  std::uint64_t total_bytes = 0;
  for (const SliceInfo& slice : slices) {
    GODWIT_CHECK(check_text("triple", slice.triple, kMaxNameBytes));
    GODWIT_CHECK(check_text("producer", slice.producer, kMaxNameBytes));
    GODWIT_CHECK(check_count("imports", slice.traits.imports.size(), kMaxImports));
    for (const std::string& symbol : slice.traits.imports) {
      GODWIT_CHECK(check_symbol("imported symbol", symbol));
    }
    // Each is checked before it is added, so that the sum cannot wrap.
    if (slice.size_bytes == 0 || slice.size_bytes > kMaxBundleBytes) {
      return fail(ErrorCode::bad_format, "slice {} claims {} bytes; a slice has 1 to {}",
                  slice.id.short_hex(), slice.size_bytes, kMaxBundleBytes);
    }
    total_bytes += slice.size_bytes;
    if (!ids.insert(slice.id).second) {
      return fail(ErrorCode::bad_format, "slice {} is listed twice", slice.id.short_hex());
    }
  }
  if (total_bytes > kMaxBundleBytes) {
    return fail(ErrorCode::bad_format, "the slices together claim {} bytes; the limit is {}",
                total_bytes, kMaxBundleBytes);
  }
  return {};
}

}  // namespace

Status check_manifest(const Manifest& manifest) {
  GODWIT_CHECK(check_name("bundle name", manifest.name));
  GODWIT_CHECK(check_text("producer", manifest.producer, kMaxNameBytes));
  GODWIT_CHECK(check_functions(manifest.functions));
  GODWIT_CHECK(check_slices(manifest.slices));
  GODWIT_CHECK(check_count("needed libraries", manifest.needs.size(), kMaxNeeds));
  for (const std::string& soname : manifest.needs) {
    GODWIT_CHECK(check_name("needed library", soname));
  }
  return {};
}

}  // namespace godwit::code
