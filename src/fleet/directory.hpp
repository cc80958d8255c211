// Who is in the fleet and which names it shares: what the layers above ask.
//
// Reads answer from this process's view and never wait. Writes take effect in the view when they
// succeed, and reach the others after a moment. Threads: the owning thread only; `done` callbacks
// and watchers run on it too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/task.hpp"
#include "fleet/entry.hpp"
#include "fleet/table.hpp"
#include "fleet/watchers.hpp"

namespace godwit::fleet {

class Directory {
 public:
  // How a write ended. Called once, from inside the write or later.
  using Done = UniqueFunction<void(Result<Version>)>;

  virtual ~Directory() = default;

  // Makes this process known, or what it says of itself newer. Its id and epoch are filled in.
  virtual Status publish(NodeRecord record) = 0;
  // Says that this process is about to end, if it was published.
  virtual void leave() = 0;

  // All nodes in order of their names, the lost included; free unless something has changed.
  [[nodiscard]] virtual NodeList nodes() const = 0;
  [[nodiscard]] virtual std::optional<NodeRecord> node(NodeId id) const = 0;
  // Somebody waits for news of a node that is not in the view: looks for it now, not at the next
  // chance. Nothing is lost by asking often.
  virtual void seek(NodeId id) = 0;
  // By name, id, or the first digits of an id; errors list candidates (Table::find).
  [[nodiscard]] virtual Result<NodeRecord> find(std::string_view text) const = 0;

  // Shared names: small values under keys, for all of the fleet.
  virtual void put_name(std::string_view key, Bytes value, Done done) = 0;
  // Only if the name is at that version; Version{}: only if it does not exist. How much that
  // guarantees against writers on other nodes is the implementation's to say.
  virtual void compare_and_put(std::string_view key, const Version& expected, Bytes value,
                               Done done) = 0;
  virtual void erase_name(std::string_view key, Done done) = 0;
  [[nodiscard]] virtual std::optional<NameEntry> find_name(std::string_view key) const = 0;
  [[nodiscard]] virtual std::vector<NameEntry> names(std::string_view prefix) const = 0;

  // Hears of every change of the view, until unwatch(). Must not write; post that.
  virtual WatchId watch(WatchCallback callback) = 0;
  virtual void unwatch(WatchId id) = 0;
};

}  // namespace godwit::fleet
