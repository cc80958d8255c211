// Functions this process calls, interned so that a call carries a small index instead of a hash.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/ids.hpp"
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
  [[nodiscard]] FunctionRef* intern(const code::Bundle& bundle, std::uint32_t function);
  // A function whose bundle is elsewhere in this process (the node's code store).
  [[nodiscard]] FunctionRef* intern(const ContentId& bundle, std::uint32_t function,
                                    bool idempotent);
  void add(const code::Bundle& bundle);
  // Stable: bundles are never removed.
  [[nodiscard]] const code::Bundle* bundle(const ContentId& id) const;

 private:
  FunctionRef* intern_locked(const ContentId& bundle, std::uint32_t function, bool idempotent);

  mutable std::mutex mutex_;
  std::map<std::pair<ContentId, std::uint32_t>, std::unique_ptr<FunctionRef>> refs_;
  std::map<ContentId, code::Bundle> bundles_;
};

}  // namespace godwit::call
