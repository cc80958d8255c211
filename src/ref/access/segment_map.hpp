// Segments of other processes' arenas that this process has mapped: each once, however many objects
// it reads or writes in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "fabric/fd.hpp"
#include "fabric/memory/memfd.hpp"
#include "godwit/error.hpp"

namespace godwit::ref {

// A segment, mapped for reading or for writing: readers cannot write, also where the same process
// writes elsewhere in it. Its number means this one segment for good (Arena).
struct SegmentKey {
  NodeId home;
  std::uint64_t segment = 0;
  fabric::Access access = fabric::Access::read;
  friend bool operator==(const SegmentKey&, const SegmentKey&) = default;
};

// Memory of the home, which may change or vanish (become zeros) where this process has nothing
// pinned or reserved.
class MappedSegment {
 public:
  explicit MappedSegment(fabric::Mapping mapping) noexcept : mapping_(std::move(mapping)) {}

  // Touching it to write is fatal unless it was mapped for that.
  [[nodiscard]] std::byte* data() const noexcept { return mapping_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return mapping_.size(); }
  // Whether that range lies in it; offsets and sizes off the wire are checked with this.
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t size) const noexcept {
    return offset <= mapping_.size() && size <= mapping_.size() - offset;
  }

 private:
  fabric::Mapping mapping_;
};

// Any thread; a call takes a lock for a moment. Who has a MappedSegment may use it for as long as
// it likes: what is in use is never unmapped.
class SegmentMap {
 public:
  // Of what it keeps; what was forgotten while in use is its users' to let go of.
  struct Options {
    std::size_t max_bytes = std::size_t{64} << 30;  // of address space
    std::size_t max_mappings = 1'024;
  };
  struct Use {
    std::size_t bytes = 0;
    std::size_t mappings = 0;
  };
  using Mapped = std::shared_ptr<const MappedSegment>;

  explicit SegmentMap(Options options) noexcept : options_(options) {}
  SegmentMap(const SegmentMap&) = delete;
  SegmentMap& operator=(const SegmentMap&) = delete;

  // Null: not mapped.
  [[nodiscard]] Mapped find(const SegmentKey& key);
  // Maps what the home shared. One that is mapped already is returned instead. Beyond the
  // limits those longest unused go. Mapping for reading takes microseconds, and pages cost when
  // they are first read; for writing it takes a millisecond per 5 MB, a seventh of what touching
  // the pages one by one would. Errors: protocol_violation (it is no memory of that size),
  // resource_exhausted (the limits, with all in use; or the system's).
  [[nodiscard]] Result<Mapped> map(const SegmentKey& key, const fabric::Fd& memory,
                                   std::size_t size);
  // The home is gone, or has given the segment back: it is unmapped once nobody uses it.
  void forget(const SegmentKey& key);
  void forget_home(NodeId home);

  [[nodiscard]] Use use() const;

 private:
  struct KeyHash {
    std::size_t operator()(const SegmentKey& key) const noexcept;
  };
  struct Entry {
    SegmentKey key;
    Mapped mapped;
  };
  using Entries = std::list<Entry>;  // the longest unused first

  // With the lock held. What they take out is unmapped by the caller, without it.
  [[nodiscard]] Mapped find_held(const SegmentKey& key);
  [[nodiscard]] Mapped take_out(Entries::iterator entry);
  [[nodiscard]] Status make_room(std::size_t size, std::vector<Mapped>& taken);

  const Options options_;
  mutable std::mutex mutex_;
  Entries entries_;
  std::unordered_map<SegmentKey, Entries::iterator, KeyHash> by_key_;
  std::size_t bytes_ = 0;
};

}  // namespace godwit::ref
