// For tests and benchmarks that need many bundles: the same code under another name is another one.
#pragma once

#include <string>
#include <utility>

#include "code/bundle/bundle.hpp"

namespace godwit::code {

// Errors as BundleBuilder::build(). Copies the slices.
[[nodiscard]] inline Result<Bundle> renamed(const Bundle& original, std::string name) {
  BundleBuilder builder(std::move(name));
  builder.needs(original.needs());
  for (const FunctionInfo& function : original.functions()) builder.function(function);
  for (const SliceInfo& slice : original.slices()) {
    builder.slice(slice, Buffer::copy_of(slice.bytes));
  }
  return std::move(builder).build();
}

}  // namespace godwit::code
