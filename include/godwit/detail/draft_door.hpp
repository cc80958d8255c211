// The untyped side of drafts: what Draft<T> and ItemDraft<T> are made of. Applications use those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "godwit/detail/object_door.hpp"
#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/handle.hpp"

namespace godwit::ref {
class Draft;
}

namespace godwit::detail {

// Errors are those that draft.hpp documents; invalid_argument of one that has nothing.
class GODWIT_API ObjectDraft {
 public:
  [[nodiscard]] static Result<ObjectDraft> create(const ObjectDoor& door, std::uint64_t home,
                                                  std::uint64_t size);
  ObjectDraft(ObjectDraft&&) noexcept;
  ObjectDraft& operator=(ObjectDraft&&) noexcept;
  ~ObjectDraft();

  // Empty if it has nothing.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept;
  [[nodiscard]] bool in_place() const noexcept;

  // All three leave it without anything, unless they fail.
  [[nodiscard]] Result<Handle> publish(const NewObjectTerms& terms);
  [[nodiscard]] Result<Handle> update(const Handle& handle, std::uint64_t borrow);
  [[nodiscard]] Result<Handle> fulfil(const Handle& handle);

 private:
  explicit ObjectDraft(std::unique_ptr<ref::Draft> draft) noexcept;
  // What it was made into; then it has nothing.
  [[nodiscard]] Result<Handle> finished(Result<Handle> made);

  std::unique_ptr<ref::Draft> draft_;  // null: nothing
};

}  // namespace godwit::detail
