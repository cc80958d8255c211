// A node's folder of objects, as it is found at the node's start.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "godwit/error.hpp"
#include "node/settings.hpp"
#include "ref/disk/object_file.hpp"
#include "ref/disk/object_folder.hpp"
#include "ref/home/handle_key.hpp"
#include "trace/log.hpp"

namespace godwit::node {

struct ObjectsOnDisk {
  std::shared_ptr<ref::ObjectFolder> folder;
  std::vector<ref::ObjectRecord> found;
  ref::HandleKey key;  // the same at every start, and so is the id: handles stay good
  NodeId id;

  // Nothing: the settings name no folder. Files that are no good are set aside and told of in the
  // log. `id` is what the settings say, if they do. Errors name the setting they come from.
  [[nodiscard]] static Result<std::optional<ObjectsOnDisk>> open(const Settings& settings,
                                                                 std::optional<NodeId> id,
                                                                 trace::Log& log);
};

}  // namespace godwit::node
