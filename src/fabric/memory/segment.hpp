// Memory that a process keeps and peers on its host read: a header page, then the data.
//
// The home maps a segment once, with room for all it may ever hold, and never moves it; room costs
// address space until it is touched. Peers map the same pages for reading. What they load is good
// only if, afterwards, the home still lives (PeerLife) and the segment's state still allows it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "fabric/fd.hpp"
#include "fabric/memory/memfd.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric {

enum class SegmentState : std::uint32_t {
  live = 1,
  sealed = 2,   // nobody writes any more
  dropped = 3,  // what is mapped here means nothing
};

// The first page. Written by the home alone; a peer trusts none of it but the state.
struct SegmentHeader {
  static constexpr std::uint64_t kMagic = 0x0031'4745'5357'4447;  // "GDWSEG1"

  std::uint64_t magic;
  std::uint64_t capacity_bytes;
  std::atomic<std::uint64_t> used_bytes;
  std::atomic<std::uint32_t> state;
};
static_assert(sizeof(SegmentHeader) <= kPageSize &&
              std::atomic<std::uint64_t>::is_always_lock_free);

// The home's side. Threads: one at a time, except that data() may be used by any.
class Segment {
 public:
  // Larger ones are refused as invalid_argument, so that sizes off the wire cannot overflow.
  static constexpr std::size_t kMaxCapacityBytes = std::size_t{1} << 44;

  Segment() noexcept = default;
  // Zeroed memory; nothing of it is in use yet. `name` is for people (/proc/PID/maps). Errors:
  // invalid_argument, resource_exhausted.
  [[nodiscard]] static Result<Segment> create(const std::string& name, std::size_t capacity_bytes);
  // The same in a file, which the caller opened for reading and writing. An empty file becomes a
  // segment; one that is there already keeps its data, use and state. Errors: bad_format (not a
  // segment, or of another capacity), io, invalid_argument, resource_exhausted.
  [[nodiscard]] static Result<Segment> in_file(Fd file, std::size_t capacity_bytes);
  Segment(Segment&&) noexcept = default;
  Segment& operator=(Segment&& other) noexcept;
  // Memory is dropped, and given back to the system even while peers have it mapped; a file keeps
  // what is in it. No pointer into data() may be in use.
  ~Segment();

  [[nodiscard]] bool is_open() const noexcept { return mapping_.data() != nullptr; }
  [[nodiscard]] std::byte* data() const noexcept { return mapping_.data() + kPageSize; }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return mapping_.size() - kPageSize; }
  [[nodiscard]] std::size_t used_bytes() const noexcept;
  [[nodiscard]] SegmentState state() const noexcept;

  // Takes the first `used_bytes` of the data into use; in a file they get their place on the disk
  // now, since a full disk later would kill this process. Never fewer than before. Errors:
  // invalid_argument, resource_exhausted (the disk is full), io.
  [[nodiscard]] Status grow(std::size_t used_bytes);
  // Peers see it with their next look.
  void set_state(SegmentState state) noexcept;
  // A descriptor for a peer to SegmentView::open(). Errors: unsupported (in a file: it could be cut
  // short under the peer, which would die of that), resource_exhausted.
  [[nodiscard]] Result<Fd> share() const;
  // Its own, for locks on the file.
  [[nodiscard]] const Fd& descriptor() const noexcept { return memory_; }

 private:
  Segment(Fd memory, Mapping mapping, bool in_file) noexcept
      : memory_(std::move(memory)), mapping_(std::move(mapping)), in_file_(in_file) {}
  [[nodiscard]] SegmentHeader& header() const noexcept;
  void drop() noexcept;

  Fd memory_;
  Mapping mapping_;
  bool in_file_ = false;
};

// A peer's side: the same memory, to be read. Any thread.
class SegmentView {
 public:
  SegmentView() noexcept = default;
  // Errors: protocol_violation unless it is a segment of exactly that capacity that cannot shrink;
  // invalid_argument, resource_exhausted.
  [[nodiscard]] static Result<SegmentView> open(const Fd& memory, std::size_t capacity_bytes);

  [[nodiscard]] bool is_open() const noexcept { return mapping_.data() != nullptr; }
  // The home may be writing to it.
  [[nodiscard]] const std::byte* data() const noexcept { return mapping_.data() + kPageSize; }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return mapping_.size() - kPageSize; }
  // What the home says it has in use, at most capacity_bytes().
  [[nodiscard]] std::size_t used_bytes() const noexcept;
  // The state not earlier than this thread's loads so far: if it is not `dropped`, they came from
  // memory that meant something. A value that is no state reads as dropped.
  [[nodiscard]] SegmentState state_after_loads() const noexcept;

 private:
  explicit SegmentView(Mapping mapping) noexcept : mapping_(std::move(mapping)) {}
  [[nodiscard]] const SegmentHeader& header() const noexcept;

  Mapping mapping_;
};

}  // namespace godwit::fabric
