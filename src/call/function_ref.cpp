#include "call/function_ref.hpp"

namespace godwit::call {

FunctionRef* FunctionTable::intern(const code::Bundle& bundle, std::uint32_t function) {
  const std::lock_guard lock(mutex_);
  bundles_.add(bundle);
  const bool idempotent = (bundle.functions()[function].flags & GODWIT_EXPORT_IDEMPOTENT) != 0;
  return intern_locked(bundle.id(), function, idempotent);
}

FunctionRef* FunctionTable::intern(const ContentId& bundle, std::uint32_t function,
                                   bool idempotent) {
  const std::lock_guard lock(mutex_);
  if (refs_.size() >= kMaxFunctions && !refs_.contains({bundle, function})) return nullptr;
  return intern_locked(bundle, function, idempotent);
}

FunctionRef* FunctionTable::intern_locked(const ContentId& bundle, std::uint32_t function,
                                          bool idempotent) {
  auto& ref = refs_[{bundle, function}];
  if (ref == nullptr) {
    ref = std::make_unique<FunctionRef>(
        FunctionRef{static_cast<std::uint32_t>(refs_.size() - 1), bundle, function, idempotent});
  }
  return ref.get();
}

void FunctionTable::add(const code::Bundle& bundle) {
  const std::lock_guard lock(mutex_);
  bundles_.add(bundle);
}

code::Bundle FunctionTable::bundle(const ContentId& id) {
  const std::lock_guard lock(mutex_);
  return bundles_.find(id);
}

}  // namespace godwit::call
