// The bundles a process can give away: those it was told of, within a limit.
#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "code/bundle/bundle.hpp"

namespace godwit::call {

// Keeps what was added last or asked for last; beyond a limit the least recently used goes. A
// bundle that somebody else in the process holds, too, is found for as long as they do, whatever
// the limit: it costs nothing extra. Not thread-safe.
class KeptBundles {
 public:
  struct Limits {
    std::size_t max_bytes = std::size_t{256} << 20;
    std::size_t max_bundles = 4096;
  };
  explicit KeptBundles(Limits limits) : limits_(limits) {}

  // The bundle added last always stays, however large.
  void add(const code::Bundle& bundle);
  // No bundle if it was never added, or is forgotten.
  [[nodiscard]] code::Bundle find(const ContentId& id);

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    ContentId id;
    code::Bundle kept;  // none once over the limit
    std::vector<code::Bundle::Weak> held;
  };
  using Entries = std::list<Entry>;
  void touch(Entries::iterator entry);
  void keep_within_limits();

  const Limits limits_;
  Entries entries_;  // the least recently used first
  std::unordered_map<ContentId, Entries::iterator> by_id_;
  std::size_t bytes_ = 0;
};

}  // namespace godwit::call
