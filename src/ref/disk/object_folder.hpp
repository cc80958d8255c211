// Objects on a disk: those that are to outlive the process, and those that memory has no room for.
//
// A file has its real name only once all of it is there, so that whenever a process or a machine
// stops, what lies under real names is whole; what a disk does to it later shows when it is read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "fabric/fd.hpp"
#include "godwit/error.hpp"
#include "ref/disk/object_file.hpp"
#include "ref/home/handle_key.hpp"

namespace godwit::ref {

// Any thread; two may not write or remove the same version at the same time. Calls take as long as
// the disk does.
class ObjectFolder {
 public:
  struct Options {
    std::string path;                // made if it is not there, for this user alone
    std::uint64_t budget_bytes = 0;  // of all files together
    // Whether open() reads every byte of every object, or heads alone; read() checks in any case.
    bool check_data = false;
  };
  struct Broken {
    std::string path;  // where it is now: NAME.1.broken
    std::string why;
  };
  struct Opened {
    std::unique_ptr<ObjectFolder> folder;
    std::vector<ObjectRecord> objects;  // those that persist, as they were
    std::vector<Broken> broken;         // to be told to a person, who may mend or delete them
    // What an earlier process did not finish writing, or kept on disk for its own life.
    std::size_t removed = 0;
  };

  // The folder is this object's alone until it ends. Files of other names are left alone. Errors:
  // already_exists (another process has it), io, permission.
  [[nodiscard]] static Result<Opened> open(Options options);
  ObjectFolder(const ObjectFolder&) = delete;
  ObjectFolder& operator=(const ObjectFolder&) = delete;
  ~ObjectFolder() = default;

  // `data` is of the size that the handle says. A persistent one is on the disk itself afterwards,
  // not only on its way. A file of the same version is replaced. On an error there is no new file.
  // Errors: resource_exhausted (budget, disk full), io, invalid_argument.
  [[nodiscard]] Status write(const ObjectRecord& record, Bytes data);
  // `data` is of the size that the handle says. Errors: not_found, bad_format (naming the file and
  // what is wrong; `data` holds anything then), io, invalid_argument.
  [[nodiscard]] Status read(const Handle& handle, MutableBytes data) const;
  // Replaces what the file says about how long the object lives. The same errors as read() and
  // write().
  [[nodiscard]] Status set_lifetime(const ObjectRecord& record);
  // One that is not there is fine. Errors: io.
  [[nodiscard]] Status remove(const ObjectFileName& name);
  [[nodiscard]] Status remove(const Handle& handle) { return remove(ObjectFileName::of(handle)); }
  // One that is no good: it is kept for a person to look at, and is no object any more. Where it is
  // now. Errors: io, not_found, already_exists (too many of that name).
  [[nodiscard]] Result<std::string> set_aside(const ObjectFileName& name);

  // The home's key, the same as long as the folder's file handle.key is there; made the first time.
  // Errors: bad_format, permission (others can read the file), io, resource_exhausted.
  [[nodiscard]] Result<HandleKey> key();
  // Whose objects these are, which handles name: `wanted`, or the node's that had the folder first
  // (file node.id), or a new one. Errors: invalid_argument (`wanted` is not that one), bad_format,
  // io, resource_exhausted.
  [[nodiscard]] Result<NodeId> node_id(std::optional<NodeId> wanted);

  // Of all objects' files.
  [[nodiscard]] std::uint64_t used_bytes() const noexcept { return used_bytes_; }

 private:
  ObjectFolder(Options options, fabric::Fd folder) noexcept
      : options_(std::move(options)), folder_(std::move(folder)) {}

  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] Result<ObjectHead> check(const std::string& name) const;
  [[nodiscard]] Result<std::string> set_aside(const std::string& name);
  void look_at(const std::string& name, Opened& opened);
  [[nodiscard]] Status reserve(std::uint64_t bytes);
  [[nodiscard]] Status write_whole(const std::string& name, const ObjectRecord& record, Bytes data);

  const Options options_;
  const fabric::Fd folder_;
  std::atomic<std::uint64_t> used_bytes_ = 0;
  std::atomic<std::uint64_t> last_temporary_ = 0;
  std::mutex key_mutex_;
};

}  // namespace godwit::ref
