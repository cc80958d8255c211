// Functions this process calls, interned so that a call carries a small index instead of a hash.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/ids.hpp"
#include "call/kept_bundles.hpp"
#include "code/bundle/bundle.hpp"

namespace godwit::call {

// One function of one bundle. Immutable, and lives as long as its table.
struct FunctionRef {
  std::uint32_t index = 0;  // in the table; indexes each link's tokens
  ContentId bundle;
  std::uint32_t function = 0;
  bool idempotent = false;
};

// Also keeps the bundles themselves, so that a node that lacks one can be given it. Any thread.
class FunctionTable {
 public:
  // Functions mobile code may name; what the application itself names is not limited.
  static constexpr std::size_t kMaxFunctions = std::size_t{1} << 20;

  explicit FunctionTable(KeptBundles::Limits limits = {}) : bundles_(limits) {}

  [[nodiscard]] FunctionRef* intern(const code::Bundle& bundle, std::uint32_t function);
  // A function whose bundle is elsewhere in this process (the node's code store). Null: there are
  // kMaxFunctions.
  [[nodiscard]] FunctionRef* intern(const ContentId& bundle, std::uint32_t function,
                                    bool idempotent);
  void add(const code::Bundle& bundle);
  // No bundle if it was never added, or is forgotten (KeptBundles).
  [[nodiscard]] code::Bundle bundle(const ContentId& id);

 private:
  FunctionRef* intern_locked(const ContentId& bundle, std::uint32_t function, bool idempotent);

  std::mutex mutex_;
  std::map<std::pair<ContentId, std::uint32_t>, std::unique_ptr<FunctionRef>> refs_;
  KeptBundles bundles_;
};

}  // namespace godwit::call
