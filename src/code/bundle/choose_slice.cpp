#include "code/bundle/choose_slice.hpp"

#include "base/fail.hpp"

namespace godwit::code {

std::string describe(const TargetInfo& target) {
  if (!target.has_jit) return fmt::format("{}, no JIT", to_string(target.machine));
  return fmt::format("{}, JIT of LLVM {}", to_string(target.machine), target.llvm_major);
}

std::string describe_slices(const Bundle& bundle) {
  std::string text;
  for (const SliceInfo& slice : bundle.slices()) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", to_string(slice.kind),
                        slice.triple.empty() ? to_string(slice.machine) : slice.triple);
    if (slice.kind == SliceKind::bitcode) text += fmt::format(" (LLVM {})", slice.llvm_major);
  }
  return text;
}

const SliceInfo* find_bitcode(const Bundle& bundle, const TargetInfo& target) {
  if (!target.has_jit) return nullptr;
  for (const SliceInfo& slice : bundle.slices()) {
    if (slice.machine == target.machine && slice.kind == SliceKind::bitcode &&
        slice.llvm_major <= target.llvm_major) {
      return &slice;
    }
  }
  return nullptr;
}

Result<const SliceInfo*> choose_slice(const Bundle& bundle, const TargetInfo& target) {
  for (const SliceInfo& slice : bundle.slices()) {
    if (slice.machine == target.machine && slice.kind == SliceKind::native) return &slice;
  }
  if (const SliceInfo* bitcode = find_bitcode(bundle, target)) return bitcode;
  return fail(ErrorCode::no_slice,
              "bundle '{}' has no slice for the target ({}): it offers {}; build it with "
              "--target {}",
              bundle.name(), describe(target), describe_slices(bundle), to_string(target.machine));
}

}  // namespace godwit::code
