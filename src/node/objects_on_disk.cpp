#include "node/objects_on_disk.hpp"

#include <filesystem>
#include <utility>

#include "base/fail.hpp"

namespace godwit::node {
namespace {

// Of the disk that the folder is on, or will be.
std::uint64_t half_of_disk(const std::filesystem::path& folder) {
  std::error_code error;
  const auto parent = std::filesystem::absolute(folder, error).parent_path();
  const auto space = std::filesystem::space(parent, error);
  return error ? UINT64_MAX : space.capacity / 2;
}

tl::unexpected<Error> in_setting(const Error& error) {
  return fail(error.code, "object_dir: {}", error.message);
}

}  // namespace

Result<std::optional<ObjectsOnDisk>> ObjectsOnDisk::open(const Settings& settings,
                                                         std::optional<NodeId> id,
                                                         trace::Log& log) {
  if (settings.object_dir.empty()) return std::optional<ObjectsOnDisk>();
  auto opened = ref::ObjectFolder::open({.path = settings.object_dir,
                                         .budget_bytes = settings.object_disk_mb != 0
                                                             ? settings.object_disk_mb << 20
                                                             : half_of_disk(settings.object_dir)});
  if (!opened) return in_setting(opened.error());
  const auto node = opened->folder->node_id(id);
  if (!node) return in_setting(node.error());
  const auto key = opened->folder->key();
  if (!key) return in_setting(key.error());
  for (const auto& broken : opened->broken) {
    log.warn("a file of objects was set aside as {}: {}", broken.path, broken.why);
  }
  log.info("{} objects are in {}", opened->objects.size(), settings.object_dir);
  return std::optional<ObjectsOnDisk>(ObjectsOnDisk{.folder = std::move(opened->folder),
                                                    .found = std::move(opened->objects),
                                                    .key = *key,
                                                    .id = *node});
}

}  // namespace godwit::node
