// Items of an exchange on disk: one file per rank, and one that says which files belong together.
//
// A folder holds at most one checkpoint that counts: the one that its manifest names. The manifest
// is written last and replaced in one step, so a checkpoint is there whole or the one before it is.
//
//   manifest              "godwit checkpoint 1", the round, the ranks, the item types
//   items-ROUND-RANK.gdi  what that rank held: records of a header and a chunk's items
//
// Pure file work; when ranks write what is CpuPort's concern.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "fabric/fd.hpp"
#include "godwit/detail/forward/chunk.hpp"
#include "godwit/error.hpp"
#include "ref/disk/file_io.hpp"

namespace godwit::forward {

using detail::Chunk;

struct CheckpointManifest {
  std::uint64_t round = 0;
  Rank ranks = 0;
  std::string types;  // as ranks introduce themselves

  [[nodiscard]] std::string encode() const;
  // bad_format: it is none, or of another version.
  [[nodiscard]] static Result<CheckpointManifest> parse(std::string_view text);
};

class CheckpointFolder {
 public:
  // Makes the folder if `make` and it is not there. Errors: those of the file system, naming it.
  [[nodiscard]] static Result<CheckpointFolder> open(const std::string& path, bool make);

  // What a rank holds, chunk by chunk. It has its name, and is on the disk, after finish().
  class Part {
   public:
    [[nodiscard]] Status add(const Chunk& chunk);
    [[nodiscard]] Status finish();

   private:
    friend CheckpointFolder;
    Part(ref::NewFile file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
    ref::NewFile file_;
    std::string path_;
    std::uint64_t end_ = 0;
  };
  [[nodiscard]] Result<Part> write_part(std::uint64_t round, Rank rank) const;
  // Makes the parts of that round count, and removes those of others.
  [[nodiscard]] Status commit(const CheckpointManifest& manifest) const;

  // not_found: there is no checkpoint here.
  [[nodiscard]] Result<CheckpointManifest> manifest() const;
  // Calls `visit` for every chunk of a part; the chunk is valid until it returns. bad_format:
  // damaged; nothing of the damaged chunk was visited. What visit() returns as an error ends it.
  using Visit = std::function<Status(const Chunk& chunk)>;
  [[nodiscard]] Status read_part(std::uint64_t round, Rank rank, const Visit& visit) const;

 private:
  CheckpointFolder(std::string path, fabric::Fd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  std::string path_;
  fabric::Fd folder_;
};

}  // namespace godwit::forward
