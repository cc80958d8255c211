#include "fabric/memory/segment.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/fail.hpp"
#include "fabric/fence.hpp"

namespace godwit::fabric {
namespace {

constexpr std::size_t kMaxNameSize = 200;  // the system takes 249

Status check_capacity(std::size_t capacity_bytes) {
  if (capacity_bytes == 0 || capacity_bytes > Segment::kMaxCapacityBytes)
    return fail(ErrorCode::invalid_argument, "a segment of {} bytes: choose 1 to {}",
                capacity_bytes, Segment::kMaxCapacityBytes);
  return {};
}

ErrorCode code_of(int error) {
  return error == ENOSPC || error == EDQUOT ? ErrorCode::resource_exhausted : ErrorCode::io;
}

SegmentState state_of(std::uint32_t value) {
  return value == static_cast<std::uint32_t>(SegmentState::live) ||
                 value == static_cast<std::uint32_t>(SegmentState::sealed)
             ? static_cast<SegmentState>(value)
             : SegmentState::dropped;
}

void begin(SegmentHeader& header, std::size_t capacity_bytes) {
  header.magic = SegmentHeader::kMagic;
  header.capacity_bytes = capacity_bytes;
  header.state.store(static_cast<std::uint32_t>(SegmentState::live), std::memory_order_release);
}

}  // namespace

Result<Segment> Segment::create(const std::string& name, std::size_t capacity_bytes) {
  GODWIT_CHECK(check_capacity(capacity_bytes));
  const std::size_t size = kPageSize + capacity_bytes;
  GODWIT_TRY(Fd memory, create_memory(name.substr(0, kMaxNameSize).c_str(), size));
  GODWIT_TRY(Mapping mapping, map_memory(memory.get(), size, Access::write, Pages::on_demand));
  Segment segment(std::move(memory), std::move(mapping), false);
  begin(segment.header(), capacity_bytes);
  return segment;
}

Result<Segment> Segment::in_file(Fd file, std::size_t capacity_bytes) {
  GODWIT_CHECK(check_capacity(capacity_bytes));
  const std::size_t size = kPageSize + capacity_bytes;
  struct stat info{};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return fail(ErrorCode::bad_format, "a segment needs a plain file of its own");
  const bool fresh = info.st_size == 0;
  // The header's page must be there before it is touched: a full disk would kill this process.
  if (fresh) {
    if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0)
      return fail(ErrorCode::io, "cannot make a file of {} bytes: {}", size, errno_text(errno));
    if (const int error = ::posix_fallocate(file.get(), 0, kPageSize); error != 0)
      return fail(code_of(error), "no place on the disk for a segment: {}", errno_text(error));
  } else if (info.st_size != static_cast<off_t>(size)) {
    return fail(ErrorCode::bad_format,
                "the file has {} bytes where a segment of this capacity has {}; remove it, or give "
                "the segment the capacity it had",
                info.st_size, size);
  }
  GODWIT_TRY(Mapping mapping, map_memory(file.get(), size, Access::write, Pages::on_demand));
  Segment segment(std::move(file), std::move(mapping), true);
  SegmentHeader& header = segment.header();
  if (fresh) begin(header, capacity_bytes);
  if (header.magic != SegmentHeader::kMagic || header.capacity_bytes != capacity_bytes ||
      segment.used_bytes() > capacity_bytes)
    return fail(ErrorCode::bad_format, "the file holds something else than a segment of {} bytes",
                capacity_bytes);
  return segment;
}

Segment& Segment::operator=(Segment&& other) noexcept {
  if (this == &other) return *this;
  drop();
  memory_ = std::move(other.memory_);
  mapping_ = std::exchange(other.mapping_, {});
  in_file_ = other.in_file_;
  return *this;
}

Segment::~Segment() {
  drop();
}

// The pages go back to the system here: peers that still map them would keep them for ever.
void Segment::drop() noexcept {
  if (!is_open() || in_file_) return;
  set_state(SegmentState::dropped);
  ::fallocate(memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kPageSize,
              static_cast<off_t>(capacity_bytes()));
}

SegmentHeader& Segment::header() const noexcept {
  return *reinterpret_cast<SegmentHeader*>(mapping_.data());
}

std::size_t Segment::used_bytes() const noexcept {
  return header().used_bytes.load(std::memory_order_relaxed);
}

SegmentState Segment::state() const noexcept {
  return state_of(header().state.load(std::memory_order_relaxed));
}

Status Segment::grow(std::size_t used_bytes) {
  const std::size_t before = this->used_bytes();
  if (used_bytes < before || used_bytes > capacity_bytes())
    return fail(ErrorCode::invalid_argument,
                "a segment with {} of {} bytes in use cannot have {} in use", before,
                capacity_bytes(), used_bytes);
  if (in_file_ && used_bytes > before) {
    const int error = ::posix_fallocate(memory_.get(), static_cast<off_t>(kPageSize + before),
                                        static_cast<off_t>(used_bytes - before));
    if (error != 0)
      return fail(code_of(error), "no place on the disk for {} more bytes: {}", used_bytes - before,
                  errno_text(error));
  }
  header().used_bytes.store(used_bytes, std::memory_order_release);
  return {};
}

void Segment::set_state(SegmentState state) noexcept {
  header().state.store(static_cast<std::uint32_t>(state), std::memory_order_seq_cst);
}

Result<Fd> Segment::share() const {
  if (in_file_)
    return fail(ErrorCode::unsupported,
                "memory that lies in a file is not mapped by others, who would die if the file "
                "were cut short; ask its home");
  return duplicate_read_only(memory_);
}

Result<SegmentView> SegmentView::open(const Fd& memory, std::size_t capacity_bytes) {
  GODWIT_CHECK(check_capacity(capacity_bytes));
  const std::size_t size = kPageSize + capacity_bytes;
  GODWIT_CHECK(check_memory(memory.get(), size));
  GODWIT_TRY(Mapping mapping, map_memory(memory.get(), size, Access::read, Pages::on_demand));
  SegmentView view(std::move(mapping));
  if (view.header().magic != SegmentHeader::kMagic ||
      view.header().capacity_bytes != capacity_bytes)
    return fail(ErrorCode::protocol_violation,
                "the peer offered memory that is not a segment of {} bytes", capacity_bytes);
  return view;
}

const SegmentHeader& SegmentView::header() const noexcept {
  return *reinterpret_cast<const SegmentHeader*>(mapping_.data());
}

std::size_t SegmentView::used_bytes() const noexcept {
  const std::uint64_t said = header().used_bytes.load(std::memory_order_acquire);
  return std::min<std::uint64_t>(said, capacity_bytes());
}

SegmentState SegmentView::state_after_loads() const noexcept {
  load_fence();
  return state_of(header().state.load(std::memory_order_acquire));
}

}  // namespace godwit::fabric
