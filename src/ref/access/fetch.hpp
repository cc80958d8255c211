// Large objects that cannot be mapped: copied piece by piece.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "ref/access/access.hpp"

namespace godwit::ref {

// An object's memory at its home stays while this lives.
class RemotePin {
 public:
  RemotePin(ObjectAccess& access, NodeId home, const wire::ObjectAnswer& found) noexcept
      : access_(access), home_(home), pin_(found.value), bytes_(found.size) {
    access_.hold(home_);
  }
  RemotePin(const RemotePin&) = delete;
  RemotePin& operator=(const RemotePin&) = delete;
  ~RemotePin() { access_.release(home_, pin_, bytes_); }

 private:
  ObjectAccess& access_;
  NodeId home_;
  std::uint64_t pin_;
  std::uint64_t bytes_;
};

// Several pieces are under way at a time, so that neither side waits for the other; the first ones
// from the beginning on.
class ObjectAccess::Pieces {
 public:
  Pieces(ObjectAccess& access, const Handle& handle, std::uint64_t pin, const ByteRange& range);
  // Front to back. Once.
  [[nodiscard]] Status take_all(const Take& take);

 private:
  struct Piece {
    detail::CallHandle call;
    std::uint64_t size;
  };
  void ask();

  ObjectAccess& access_;
  const Handle handle_;
  const std::uint64_t pin_;
  const ByteRange range_;
  std::uint64_t asked_;
  std::deque<Piece> under_way_;
};

// A whole object. Its pin goes back at the end.
class ObjectAccess::Fetch {
 public:
  // Errors: out_of_memory.
  [[nodiscard]] static Result<Coming> begin(ObjectAccess& access, const Handle& handle,
                                            const wire::ObjectAnswer& found);
  Fetch(ObjectAccess& access, const Handle& handle, const wire::ObjectAnswer& found, Buffer room);
  // Once.
  [[nodiscard]] Result<std::shared_ptr<const View>> finish();

 private:
  const RemotePin pin_;
  const Handle handle_;
  const std::uint64_t version_;
  Buffer room_;
  Pieces pieces_;
};

}  // namespace godwit::ref
