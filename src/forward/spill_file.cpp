#include "forward/spill_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/bytes.hpp"
#include "base/fail.hpp"
#include "forward/chunk_label.hpp"
#include "ref/disk/file_io.hpp"

namespace godwit::forward {
namespace {

std::string temporary_folder() {
  std::error_code ignored;
  const auto folder = std::filesystem::temp_directory_path(ignored);
  return folder.empty() ? "/tmp" : folder.string();
}

// Where a file system has no nameless files: a name that is gone at once.
int make_and_unlink(const std::string& folder) {
  std::string name = folder + "/godwit-spill-XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file >= 0) ::unlink(name.c_str());
  return file;
}

constexpr const char* kFile = "the spill file";

}  // namespace

Status SpillFile::open() {
  if (file_) return {};
  const std::string folder = folder_.empty() ? temporary_folder() : folder_;
  int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) file = make_and_unlink(folder);
  if (file < 0) {
    return fail(ErrorCode::io,
                "no spill file can be made in {}: {}; name a folder that can be "
                "written to in ExchangeOptions::spill_folder, or set spill_bytes to 0",
                folder, errno_text(errno));
  }
  file_ = fabric::Fd(file);
  return {};
}

Status SpillFile::push(const Chunk& chunk) {
  GODWIT_CHECK(open());
  if (waiting_.empty()) {
    end_ = 0;
    holes_.clear();
    place_bytes_ = chunk.capacity;
  }
  std::uint64_t offset = end_;
  const bool fits_hole = chunk.used <= place_bytes_ && !holes_.empty();
  if (fits_hole) {
    offset = holes_.back();
  } else if (const std::uint64_t place = std::max<std::uint64_t>(chunk.used, place_bytes_);
             end_ + place > limit_bytes_) {
    return fail(ErrorCode::resource_exhausted,
                "items wait for room in a file, and it has reached its limit of {} bytes: raise "
                "ExchangeOptions::queue_bytes or spill_bytes",
                limit_bytes_);
  }
  GODWIT_CHECK(ref::write_at(file_, offset, {chunk.items(), chunk.used}, kFile));
  if (fits_hole) {
    holes_.pop_back();
  } else {
    end_ += std::max<std::uint64_t>(chunk.used, place_bytes_);
  }
  waiting_.push_back({chunk, offset});
  items_ += chunk.count;
  return {};
}

Status SpillFile::read(const Entry& entry, std::byte* items) const {
  const std::size_t size = entry.header.used;
  GODWIT_TRY(const std::size_t got, ref::read_at(file_, entry.offset, {items, size}, kFile));
  if (got < size) return fail(ErrorCode::io, "{} is shorter than what was written to it", kFile);
  return {};
}

Status SpillFile::pop_into(Chunk& chunk) {
  const auto& [header, offset] = waiting_.front();
  GODWIT_CHECK(read(waiting_.front(), chunk.items()));
  copy_label(header, chunk);
  items_ -= header.count;
  if (header.used <= place_bytes_) holes_.push_back(offset);
  waiting_.pop_front();
  if (waiting_.empty() && ::ftruncate(file_.get(), 0) != 0) file_ = fabric::Fd();
  return {};
}

Status SpillFile::each(const std::function<Status(const Chunk&)>& visit) const {
  Buffer items;
  for (const Entry& entry : waiting_) {
    if (items.size() < entry.header.used) items = Buffer::allocate(entry.header.used);
    GODWIT_CHECK(read(entry, items.data()));
    Chunk chunk = entry.header;
    chunk.data = items.data();
    GODWIT_CHECK(visit(chunk));
  }
  return {};
}

}  // namespace godwit::forward
