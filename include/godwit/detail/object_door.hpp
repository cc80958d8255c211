// The untyped side of references: what Ref<T> and its kin are made of. Applications use those.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "godwit/call_handle.hpp"
#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/handle.hpp"
#include "godwit/lifetime.hpp"
#include "godwit/object_status.hpp"
#include "godwit/resolve_path.hpp"

namespace godwit::call {
class Caller;
}
namespace godwit::ref {
class ObjectAccess;
}

namespace godwit::detail {

using ObjectParts = std::span<const std::span<const std::byte>>;

// A version as it was resolved. The bytes stay until the last copy of `keeps` is gone.
struct ObjectView {
  Handle handle;  // as it was asked for
  std::uint64_t version = 0;
  std::span<const std::byte> bytes;
  ResolvedBy how = ResolvedBy::pointer;
  std::shared_ptr<const void> keeps;
};

// A piece of an object, or `pieces` of them, `step` bytes apart.
struct ObjectSelection {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t step = 0;
  std::uint64_t pieces = 1;
};

struct NewObjectTerms {
  std::uint64_t type = 0;
  PutOptions options{};
  bool owned = false;
};

// The hash of a type's string (docs/types.md).
[[nodiscard]] GODWIT_API std::uint64_t hash_of_type(std::string_view type);

// Any thread; errors are those that ref.hpp documents.
class GODWIT_API ObjectDoor {
 public:
  explicit ObjectDoor(ref::ObjectAccess& access) noexcept : access_(&access) {}

  // Who calls on behalf of this process.
  [[nodiscard]] call::Caller& caller() const noexcept;
  [[nodiscard]] ref::ObjectAccess& access() const noexcept { return *access_; }

  [[nodiscard]] Result<Handle> put(std::uint64_t home, const NewObjectTerms& terms,
                                   ObjectParts parts) const;
  [[nodiscard]] std::vector<Result<Handle>> put_all(std::uint64_t home, const NewObjectTerms& terms,
                                                    ObjectParts objects) const;
  [[nodiscard]] Result<ObjectView> resolve(const Handle& handle) const;
  // The same without waiting: the question, and what its answer leads to.
  [[nodiscard]] CallHandle begin_resolve(const Handle& handle) const;
  [[nodiscard]] Result<ObjectView> finish_resolve(const Handle& handle, CallHandle call) const;
  [[nodiscard]] std::vector<Result<ObjectView>> resolve_all(std::span<const Handle> handles) const;
  [[nodiscard]] Result<ObjectView> await(const Handle& handle, std::uint64_t newer_than,
                                         std::chrono::nanoseconds at_most) const;
  // The same of a promise without waiting, as begin_resolve() and finish_resolve().
  [[nodiscard]] CallHandle begin_wait(const Handle& handle, std::chrono::nanoseconds at_most) const;
  [[nodiscard]] Result<ObjectView> finish_wait(const Handle& handle, CallHandle call,
                                               std::chrono::nanoseconds at_most) const;
  [[nodiscard]] Result<std::vector<std::byte>> read(const Handle& handle,
                                                    const ObjectSelection& selection) const;

  [[nodiscard]] Result<bool> exists(const Handle& handle) const;
  [[nodiscard]] Result<ResolveDecision> explain(const Handle& handle) const;
  [[nodiscard]] Status evict(const Handle& handle) const;
  [[nodiscard]] std::vector<Status> evict_all(std::span<const Handle> handles) const;
  [[nodiscard]] Result<ObjectStatus> status(const Handle& handle) const;
  [[nodiscard]] Result<std::vector<ObjectStatus>> list(std::uint64_t home,
                                                       std::size_t at_most) const;
  [[nodiscard]] Status set_lifetime(const Handle& handle, const Lifetime& lifetime) const;
  [[nodiscard]] Status set_pinned(const Handle& handle, bool pinned) const;
  [[nodiscard]] Result<Handle> newest(const Handle& handle) const;
  [[nodiscard]] Result<Handle> restrict_to(const Handle& handle, Rights rights) const;
  // `borrow`: the one for writing by which this is done, or 0.
  [[nodiscard]] Result<Handle> update(const Handle& handle, ObjectParts parts,
                                      std::uint64_t borrow) const;

  [[nodiscard]] Status own(const Handle& handle) const;
  [[nodiscard]] Status disown(const Handle& handle) const;
  void drop_owned(const Handle& handle) const noexcept;
  [[nodiscard]] Result<std::uint64_t> offer(const Handle& handle,
                                            std::chrono::nanoseconds lease) const;
  [[nodiscard]] Status accept(const Handle& handle, std::uint64_t offer) const;
  [[nodiscard]] Result<std::uint64_t> borrow(const Handle& handle, bool to_write) const;
  void give_back(const Handle& handle, std::uint64_t borrow) const noexcept;

  [[nodiscard]] Result<Handle> promise(std::uint64_t home, const NewObjectTerms& terms,
                                       std::chrono::nanoseconds at_most) const;
  [[nodiscard]] Result<Handle> fulfil(const Handle& handle, ObjectParts parts) const;
  [[nodiscard]] Status break_promise(const Handle& handle, ErrorCode code,
                                     std::string_view why) const;
  [[nodiscard]] Status take_over(const Handle& handle) const;
  void forget_promise(const Handle& handle) const noexcept;

 private:
  ref::ObjectAccess* access_;
};

}  // namespace godwit::detail
