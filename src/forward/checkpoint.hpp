// Items of an exchange on disk: one file per rank, and one that says which files belong together.
//
// A folder holds at most one checkpoint that counts: the one that its manifest names. The manifest
// is written last and replaced in one step, so a checkpoint is there whole or the one before it is.
// No two checkpoints have a file in common: programs that go on from one, and go through the same
// rounds again, write beside it.
//
//   manifest             "godwit checkpoint 2", its number, the round, the ranks, the item types
//   items-NUMBER-RANK.gdi  what that rank held, in records: a head, then a chunk's items or a piece
//                        of what the program keeps; the last one counts them
//
// Pure file work; when ranks write what is CpuPort's concern (saving.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/fail.hpp"
#include "fabric/fd.hpp"
#include "godwit/detail/forward/chunk.hpp"
#include "godwit/error.hpp"
#include "ref/disk/file_io.hpp"

namespace godwit::forward {

using detail::Chunk;

struct CheckpointManifest {
  std::uint64_t number = 0;
  std::uint64_t round = 0;
  Rank ranks = 0;
  std::string types;  // as ranks introduce themselves

  // One that no other checkpoint has.
  [[nodiscard]] static std::uint64_t new_number();
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
    enum class Was : std::uint8_t {
      incoming,
      held_back,  // at its source, for lack of room
    };
    // Waits for the disk now and then, so that finish() need not wait for all of it.
    [[nodiscard]] Status add(const Chunk& chunk, Was was);
    // What the program keeps beside its items; `index` counts from 0.
    [[nodiscard]] Status add_kept(std::size_t index, Bytes bytes);
    [[nodiscard]] Status finish();

   private:
    friend CheckpointFolder;
    Part(ref::NewFile file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
    ref::NewFile file_;
    std::string path_;
    std::uint64_t end_ = 0;
    std::uint64_t synced_ = 0;  // bytes that are on the disk
    std::uint32_t records_ = 0;
  };
  [[nodiscard]] Result<Part> write_part(std::uint64_t number, Rank rank) const;
  // Makes the parts of that number count, and removes what is left of others.
  [[nodiscard]] Status commit(const CheckpointManifest& manifest) const;

  // not_found: there is no checkpoint here.
  [[nodiscard]] Result<CheckpointManifest> manifest() const;
  [[nodiscard]] static Result<CheckpointManifest> read_manifest(const std::string& path) {
    GODWIT_TRY(const CheckpointFolder folder, open(path, false));
    return folder.manifest();
  }
  // Sees every chunk of a part, and what was kept, in pieces; each is valid until the call returns.
  // bad_format: damaged; nothing of the damaged record was seen. An error that is returned ends it.
  struct Visit {
    std::function<Status(const Chunk& chunk, Part::Was was)> chunk;
    std::function<Status(std::size_t index, Bytes piece)> kept;
  };
  [[nodiscard]] Status read_part(std::uint64_t number, Rank rank, const Visit& visit) const;

 private:
  CheckpointFolder(std::string path, fabric::Fd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  std::string path_;
  fabric::Fd folder_;
};

}  // namespace godwit::forward
