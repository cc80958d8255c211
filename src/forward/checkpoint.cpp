#include "forward/checkpoint.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <random>
#include <type_traits>
#include <vector>

#include "base/fail.hpp"
#include "forward/chunk_label.hpp"
#include "ref/disk/checksum.hpp"

namespace godwit::forward {
namespace {

constexpr std::string_view kManifest = "manifest";
constexpr std::string_view kFirstLine = "godwit checkpoint 2";
constexpr std::string_view kPartSuffix = ".gdi";
constexpr std::size_t kMaxManifestBytes = std::size_t{1} << 20;
// No chunk is larger: 64 MiB of tail, and its head.
constexpr std::uint32_t kMaxChunkBytes = std::uint32_t{96} << 20;
constexpr std::size_t kPieceBytes = std::size_t{64} << 20;
// What may be written before the disk has it: seconds of a slow one.
constexpr std::uint64_t kSyncBytes = std::uint64_t{256} << 20;

// Records that are no chunk; kinds of items count from 0.
constexpr std::uint16_t kKept = 0xFFFE;  // sequence: its index
constexpr std::uint16_t kEnd = 0xFFFD;   // count: the records before it

// Before a chunk's items in a part; little-endian.
struct RecordHead {
  std::uint64_t checksum = 0;  // of the rest of this head, and of the items
  std::uint64_t sequence = 0;
  std::uint32_t used = 0;
  std::uint32_t count = 0;
  Rank source = 0;
  Rank destination = 0;
  std::uint16_t kind = 0;
  std::uint8_t priority = 0;
  std::uint8_t was = 0;  // Part::Was
  std::uint8_t zero[4] = {};
};
static_assert(sizeof(RecordHead) == 40 && std::is_trivially_copyable_v<RecordHead>);

std::uint64_t checksum_of(const RecordHead& head, Bytes items) {
  ref::Checksum checksum;
  checksum.add(bytes_of_value(head).subspan(sizeof head.checksum));
  checksum.add(items);
  return checksum.value();
}

std::string part_name(std::uint64_t number, Rank rank) {
  return fmt::format("items-{}-{}{}", number, rank, kPartSuffix);
}

Status write_record(const fabric::Fd& file, std::uint64_t& end, RecordHead head, Bytes bytes,
                    const std::string& path) {
  head.used = static_cast<std::uint32_t>(bytes.size());
  head.checksum = checksum_of(head, bytes);
  GODWIT_CHECK(ref::write_at(file, end, bytes_of_value(head), path));
  GODWIT_CHECK(ref::write_at(file, end + sizeof head, bytes, path));
  end += sizeof head + bytes.size();
  return {};
}

template <class Number>
bool parse_line(std::string_view& text, std::string_view key, Number& number) {
  if (!text.starts_with(key)) return false;
  text.remove_prefix(key.size());
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end == text.data() + text.size() || *end != '\n') return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

}  // namespace

// By chance: two programs may write to one folder, by mistake or since the one that is thought dead
// is not.
std::uint64_t CheckpointManifest::new_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

std::string CheckpointManifest::encode() const {
  return fmt::format("{}\nnumber {}\nround {}\nranks {}\nitems {}\n", kFirstLine, number, round,
                     ranks, types);
}

Result<CheckpointManifest> CheckpointManifest::parse(std::string_view text) {
  CheckpointManifest manifest;
  const bool begins = text.starts_with(kFirstLine);
  if (begins) text.remove_prefix(std::min(text.size(), kFirstLine.size() + 1));
  if (!begins || !parse_line(text, "number ", manifest.number) ||
      !parse_line(text, "round ", manifest.round) || !parse_line(text, "ranks ", manifest.ranks) ||
      manifest.ranks < 1 || !text.starts_with("items ") || !text.ends_with('\n')) {
    return fail(ErrorCode::bad_format, "this is no manifest of a checkpoint, or a damaged one");
  }
  manifest.types = text.substr(6, text.size() - 7);
  return manifest;
}

Result<CheckpointFolder> CheckpointFolder::open(const std::string& path, bool make) {
  std::error_code failure;
  if (make) std::filesystem::create_directories(path, failure);
  if (failure) {
    return fail(ErrorCode::io, "the folder {} for checkpoints cannot be made: {}", path,
                failure.message());
  }
  fabric::Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return ref::disk_failure("open", path);
  return CheckpointFolder(path, std::move(folder));
}

Result<CheckpointFolder::Part> CheckpointFolder::write_part(std::uint64_t number, Rank rank) const {
  const std::string name = part_name(number, rank);
  GODWIT_TRY(ref::NewFile file,
             ref::NewFile::create(folder_, name, CheckpointManifest::new_number(), path_of(name)));
  return Part(std::move(file), path_of(name));
}

Status CheckpointFolder::Part::add(const Chunk& chunk, Was was) {
  RecordHead head;
  copy_label(chunk, head);
  head.was = static_cast<std::uint8_t>(was);
  ++records_;
  GODWIT_CHECK(write_record(file_.file(), end_, head, {chunk.items(), chunk.used}, path_));
  if (end_ - synced_ < kSyncBytes) return {};
  synced_ = end_;
  return ::fdatasync(file_.file().get()) == 0 ? Status() : ref::disk_failure("write", path_);
}

Status CheckpointFolder::Part::add_kept(std::size_t index, Bytes bytes) {
  do {
    const Bytes piece = bytes.first(std::min(bytes.size(), kPieceBytes));
    ++records_;
    GODWIT_CHECK(
        write_record(file_.file(), end_, {.sequence = index, .kind = kKept}, piece, path_));
    bytes = bytes.subspan(piece.size());
  } while (!bytes.empty());
  return {};
}

Status CheckpointFolder::Part::finish() {
  GODWIT_CHECK(write_record(file_.file(), end_, {.count = records_, .kind = kEnd}, {}, path_));
  return file_.finish(true);
}

Status CheckpointFolder::commit(const CheckpointManifest& manifest) const {
  const std::string name(kManifest);
  GODWIT_TRY(ref::NewFile file,
             ref::NewFile::create(folder_, name, CheckpointManifest::new_number(), path_of(name)));
  GODWIT_CHECK(ref::write_at(file.file(), 0, bytes_of(manifest.encode()), path_of(name)));
  GODWIT_CHECK(file.finish(true));
  // Parts of others count no more, and what a program that was killed had begun never did; one that
  // cannot be removed harms nobody.
  const std::string prefix = fmt::format("items-{}-", manifest.number);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    const std::string found = entry.path().filename().string();
    const std::string_view begun = ref::NewFile::name_behind(found);
    const std::string_view part = begun.empty() ? found : begun;
    const bool is_part = part.starts_with("items-") && part.ends_with(kPartSuffix);
    if ((is_part && !part.starts_with(prefix)) || begun == kManifest) {
      ::unlinkat(folder_.get(), found.c_str(), 0);
    }
  }
  return {};
}

Result<CheckpointManifest> CheckpointFolder::manifest() const {
  const std::string path = path_of(std::string(kManifest));
  const fabric::Fd file(::openat(folder_.get(), kManifest.data(), O_RDONLY | O_CLOEXEC));
  if (!file) return ref::disk_failure("open", path);
  std::string text(kMaxManifestBytes, '\0');
  GODWIT_TRY(const std::size_t size,
             ref::read_at(file, 0, std::as_writable_bytes(std::span(text)), path));
  auto manifest = CheckpointManifest::parse(std::string_view(text).substr(0, size));
  if (!manifest) return fail(manifest.error().code, "{}: {}", path, manifest.error().message);
  return manifest;
}

Status CheckpointFolder::read_part(std::uint64_t number, Rank rank, const Visit& visit) const {
  const std::string name = part_name(number, rank);
  const std::string path = path_of(name);
  const fabric::Fd file(::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0) return ref::disk_failure("open", path);
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  // Items may be aligned to a line.
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory;
  std::uint64_t at = 0;
  const auto damaged = [&](std::string_view how) {
    return fail(ErrorCode::bad_format, "{} is damaged at byte {}: {}", path, at, how);
  };
  for (std::uint32_t records = 0;; ++records) {
    RecordHead head;
    GODWIT_TRY(const std::size_t got,
               ref::read_at(file, at, {reinterpret_cast<std::byte*>(&head), sizeof head}, path));
    if (got < sizeof head) return damaged("it is cut off");
    if (head.used > kMaxChunkBytes || head.priority >= kPriorities) {
      return damaged("no record begins there");
    }
    if (head.used > size - at - sizeof head) return damaged("it is cut off");
    memory.resize(head.used / sizeof(Line) + 1);
    const MutableBytes items{memory.front().bytes, head.used};
    GODWIT_TRY(const std::size_t filled, ref::read_at(file, at + sizeof head, items, path));
    if (filled < head.used) return damaged("it is cut off");
    if (checksum_of(head, items) != head.checksum) return damaged("the checksum differs");
    if (head.kind == kEnd) return head.count == records ? Status() : damaged("records are missing");
    if (head.kind == kKept) {
      GODWIT_CHECK(visit.kept(static_cast<std::size_t>(head.sequence), items));
    } else {
      Chunk chunk;
      copy_label(head, chunk);
      chunk.data = items.data();
      chunk.capacity = head.used;
      GODWIT_CHECK(visit.chunk(chunk, static_cast<Part::Was>(head.was)));
    }
    at += sizeof head + head.used;
  }
}

}  // namespace godwit::forward
