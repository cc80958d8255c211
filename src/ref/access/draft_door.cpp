// The door of Draft<T> to everything below it.
#include "godwit/detail/draft_door.hpp"

#include <utility>

#include "base/fail.hpp"
#include "ref/access/draft.hpp"
#include "ref/access/terms.hpp"

namespace godwit::detail {
namespace {

using wire::ObjectOp;

tl::unexpected<Error> has_nothing() {
  return fail(ErrorCode::invalid_argument,
              "this draft has nothing: it was published or moved from, make another one");
}

}  // namespace

ObjectDraft::ObjectDraft(std::unique_ptr<ref::Draft> draft) noexcept : draft_(std::move(draft)) {}
ObjectDraft::ObjectDraft(ObjectDraft&&) noexcept = default;
ObjectDraft& ObjectDraft::operator=(ObjectDraft&&) noexcept = default;
ObjectDraft::~ObjectDraft() = default;

Result<ObjectDraft> ObjectDraft::create(const ObjectDoor& door, std::uint64_t home,
                                        std::uint64_t size) {
  GODWIT_TRY(ref::Draft draft, door.access().begin_draft(NodeId{home}, size));
  return ObjectDraft(std::make_unique<ref::Draft>(std::move(draft)));
}

std::span<std::byte> ObjectDraft::bytes() const noexcept {
  return draft_ != nullptr ? draft_->bytes() : std::span<std::byte>();
}

bool ObjectDraft::in_place() const noexcept {
  return draft_ != nullptr && draft_->ticket() != 0;
}

Result<Handle> ObjectDraft::publish(const NewObjectTerms& terms) {
  if (draft_ == nullptr) return has_nothing();
  return finished(draft_->access().publish(*draft_, ref::new_object(terms), terms.options.channel,
                                           terms.options.tags));
}

Result<Handle> ObjectDraft::update(const Handle& handle, std::uint64_t borrow) {
  if (draft_ == nullptr) return has_nothing();
  return finished(
      draft_->access().publish_next(ObjectOp::update, {.handle = handle, .c = borrow}, *draft_));
}

Result<Handle> ObjectDraft::fulfil(const Handle& handle) {
  if (draft_ == nullptr) return has_nothing();
  return finished(draft_->access().publish_next(ObjectOp::fulfil, {.handle = handle}, *draft_));
}

Result<Handle> ObjectDraft::finished(Result<Handle> made) {
  if (made) draft_.reset();
  return made;
}

}  // namespace godwit::detail
