// The untyped side of references: what Ref<T> and its kin are made of. Applications use those.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/call_handle.hpp"
#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/handle.hpp"
#include "godwit/lifetime.hpp"

namespace godwit::call {
class Caller;
}
namespace godwit::ref {
class ObjectAccess;
}

namespace godwit {

// How the bytes of a resolved object came to be readable in this process.
enum class ResolvedBy : std::uint8_t {
  pointer,  // this process is the home
  mapping,  // memory of the home's, on this host: nothing was copied
  message,  // a copy, in the home's answer
  stream,   // a copy, in several pieces
  channel,  // a copy, which came from the channel that has it
  copy,     // a copy from memory of the home's, on this host: nobody was asked
};
[[nodiscard]] GODWIT_API std::string_view to_string(ResolvedBy how) noexcept;

struct ObjectStatus {
  Handle handle;  // of the newest version
  Lifetime::Kind lifetime = Lifetime::Kind::until_evicted;
  std::optional<std::chrono::nanoseconds> time_left{};  // of a lease
  std::uint32_t readers_left = 0;
  std::uint64_t owner = 0;  // the id of the process that owns it; 0: nobody
  std::uint32_t pins = 0;   // readers that have it at the moment
  std::uint32_t borrows = 0;
  bool borrowed_for_writing = false;
  bool pinned = false;
  bool pending = false;  // promised, and not there yet
  bool persistent = false;
  bool spilled = false;    // on the home's disk at the moment
  bool elsewhere = false;  // in a channel, and not in the home's memory at the moment
  std::string channel{};   // which has it; not told of those that are listed
  std::uint64_t reads = 0;
  std::chrono::nanoseconds age{};
};

// A way to an object's bytes from this process.
struct ResolvePath {
  std::string name;  // "pointer", "mapping", "message", "stream", or a channel's
  bool possible = true;
  std::string why{};  // it is not possible, or not taken
  double expected_us = 0;
  std::uint64_t measured = 0;  // how often; 0: what is expected is a guess
  double last_us = 0;
  std::uint64_t last_bytes = 0;
};

// What resolving an object would do, and why.
struct ResolveDecision {
  Handle handle;
  std::string channel;    // that has the bytes; "memory"
  bool in_memory = true;  // of the home
  std::string chosen;     // the name of the path that is tried first
  std::string why;
  std::vector<ResolvePath> paths;  // the chosen one first
};
// A table for people.
[[nodiscard]] GODWIT_API std::string to_text(const ResolveDecision& decision);

}  // namespace godwit

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
