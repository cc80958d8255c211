// Many elements between this process and the shards: mapped ones are copied, others called for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "godwit/ops/parts.hpp"
#include "godwit/outcome.hpp"
#include "ops/attachment.hpp"
#include "ops/pieces.hpp"

namespace godwit::ops {

// Which elements: from `first` on, or those listed.
struct Selection {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::span<const std::uint64_t> indices{};
  bool is_list = false;

  // As many as fit into `bytes`.
  static Selection range(std::uint64_t first, std::size_t bytes, std::uint32_t element_size) {
    return {.first = first, .count = bytes / element_size};
  }
  static Selection list(std::span<const std::uint64_t> indices) {
    return {.count = indices.size(), .indices = indices, .is_list = true};
  }
};

// One thread at a time. Destroying it cancels the calls that have not ended and waits until nobody
// reads the memory it was given.
class Transfer {
 public:
  explicit Transfer(std::shared_ptr<const Attachment> region) : region_(std::move(region)) {}

  void read(const Selection& selection, MutableBytes to, bool directly);
  void write(const Selection& selection, Bytes from);
  // Adds numbers, of the type that the elements have, to the elements listed.
  void add(std::span<const std::uint64_t> indices, Bytes from, Number number);

  [[nodiscard]] const Outcome<void>& begun() const noexcept { return begun_; }
  [[nodiscard]] detail::CallHandle next();
  [[nodiscard]] detail::CallHandle only_call();
  [[nodiscard]] Outcome<void> take(detail::CallHandle call);
  [[nodiscard]] Outcome<void> finish();

 private:
  struct Part {
    Piece piece;
    std::uint64_t first = 0;          // for messages: the first index asked for
    std::vector<std::byte> staged{};  // elements on their way out, in the order of their home
    detail::CallHandle call{};        // destroyed before what it was lent
  };
  [[nodiscard]] bool prepare(const char* verb, const Selection& selection, std::size_t bytes);
  [[nodiscard]] Outcome<void> copy_mapped(const region::MappedShard& shard, const Part& part);
  void ask(Part& part);
  void send(Part& part, Bytes from);
  void check_started(const Part& part);
  [[nodiscard]] Note note_of(const Part& part) const;
  [[nodiscard]] std::size_t bytes_of_piece(const Piece& piece) const {
    return piece.count * region_->element_size();
  }

  std::shared_ptr<const Attachment> region_;
  const char* verb_ = "";
  bool is_read_ = false;
  std::optional<Number> added_;  // what is sent is added
  Selection selection_;          // its indices only while it begins
  MutableBytes to_;
  std::vector<Part> parts_;
  std::size_t next_ = 0;
  Outcome<void> begun_;
};

}  // namespace godwit::ops
