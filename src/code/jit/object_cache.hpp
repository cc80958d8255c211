// Compiled objects on disk, so that a restarted node does not compile again.
//
// A file is a header (magic, format, size, BLAKE2b-256 of the object) and the object, named by a
// hash of everything the object depends on. Files appear whole (written aside, then renamed), and a
// file whose hash is wrong is deleted and forgotten, so processes may share a directory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "godwit/error.hpp"

namespace godwit::code::jit {

class ObjectCache {
 public:
  // Makes the directory (0700) if it is missing. Errors: permission (somebody else could write
  // there), io.
  [[nodiscard]] static Result<std::unique_ptr<ObjectCache>> open(std::string directory,
                                                                 std::uint64_t limit_bytes);

  struct Found {
    std::optional<std::vector<char>> object;
    bool rejected = false;  // there was a file, and it was corrupt
  };
  // Any thread. Marks the file as used now.
  [[nodiscard]] Found find(const ContentId& key);
  // Any thread. Deletes the least recently used files if the limit is passed. An object beyond the
  // limit is not kept. Error: io.
  [[nodiscard]] Status store(const ContentId& key, Bytes object);

 private:
  ObjectCache(std::string directory, std::uint64_t limit_bytes)
      : directory_(std::move(directory)), limit_bytes_(limit_bytes) {}
  [[nodiscard]] std::string path_of(const ContentId& key) const;
  void make_room();  // mutex_ held

  std::string directory_;
  std::uint64_t limit_bytes_;
  std::mutex mutex_;
  std::uint64_t used_bytes_ = 0;     // guarded by mutex_; as of the last scan, and ours since
  std::uint64_t files_written_ = 0;  // guarded by mutex_; makes temporary names unique
};

}  // namespace godwit::code::jit
