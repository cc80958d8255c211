// What a group has been given and has not acked: pieces of the topic's offsets, each leased to
// somebody or waiting to be delivered again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace godwit::ref::stream {

// From `begin` up to and without `end`.
struct OffsetRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] bool empty() const noexcept { return begin >= end; }
  [[nodiscard]] std::uint64_t size() const noexcept { return empty() ? 0 : end - begin; }
  friend bool operator==(const OffsetRange&, const OffsetRange&) = default;
};

// Not thread-safe. Pieces never meet; the first and the last item of each is one that the group
// wants, and those it does not want in between count as part of it. Logarithmic in the pieces.
class Outstanding {
 public:
  static constexpr std::uint64_t kNobody = 0;

  struct Piece {
    OffsetRange range;
    std::uint64_t lease = kNobody;  // kNobody: to be delivered again
    std::uint32_t deliveries = 0;   // that have begun
  };
  // The range without the items at its ends that the group does not want; maybe nothing is left.
  using Trim = std::function<OffsetRange(OffsetRange)>;
  using OnRemoved = std::function<void(OffsetRange)>;

  void add(const Piece& piece);
  // The first that nobody has.
  [[nodiscard]] std::optional<Piece> first_returned() const;
  void remove(const Piece& piece);
  // Takes away what of the range is the lease's or nobody's.
  void ack(OffsetRange range, std::uint64_t lease, const Trim& trim, const OnRemoved& removed);
  // What the lease has of the range is nobody's from here on. How many pieces.
  std::size_t give_back(OffsetRange range, std::uint64_t lease);
  [[nodiscard]] bool has(OffsetRange range, std::uint64_t lease) const;

  void clear();
  template <class F>
  void for_each(F&& visit) const {
    for (const auto& [begin, piece] : pieces_) visit(piece);
  }
  [[nodiscard]] bool empty() const noexcept { return pieces_.empty(); }
  [[nodiscard]] std::size_t pieces() const noexcept { return pieces_.size(); }
  // With those in between that the group does not want.
  [[nodiscard]] std::uint64_t items() const noexcept { return items_; }
  // Below it, everything has been acked; nothing if there are no pieces.
  [[nodiscard]] std::optional<std::uint64_t> first() const;

 private:
  using Pieces = std::map<std::uint64_t, Piece>;
  // The first piece that ends after `offset`.
  [[nodiscard]] Pieces::const_iterator find(std::uint64_t offset) const;

  Pieces pieces_;                     // by where they begin
  std::set<std::uint64_t> returned_;  // where those begin that nobody has
  std::uint64_t items_ = 0;
};

}  // namespace godwit::ref::stream
