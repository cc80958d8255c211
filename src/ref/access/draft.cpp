// Objects that are written where they will lie, by whoever makes them.
#include "ref/access/draft.hpp"

#include "base/fail.hpp"
#include "ref/access/mappings.hpp"
#include "ref/access/put_item.hpp"
#include "ref/access/room.hpp"

namespace godwit::ref {

using wire::ObjectItem;
using wire::ObjectOp;

// Small ones go in one message, which is quicker than to ask for room first.
Result<Draft> ObjectAccess::begin_draft(NodeId home, std::uint64_t size) {
  if (size > kSmall && !is_own(home) && !mappings_->is_far(home)) {
    ObjectItem item;
    item.handle.size = size;
    GODWIT_TRY(const AnsweredItem reserved, ask_one(asking(), home, ObjectOp::reserve, item));
    const wire::ObjectAnswer& at = reserved.answer.fixed;
    Room room(*this, home, at.value);
    GODWIT_TRY(auto segment, mappings_->get({home, at.segment, fabric::Access::write}));
    if (segment != nullptr) {
      GODWIT_TRY(const MutableBytes bytes, memory_of_room(home, at, *segment, size));
      return Draft(*this, home, std::exchange(room.ticket, 0), std::move(segment), bytes);
    }
  }
  Buffer memory = Buffer::allocate(size);
  if (memory.data() == nullptr && size != 0) {
    return fail(ErrorCode::resource_exhausted,
                "this process has no memory for a draft of {} bytes, to be sent to node {}: make "
                "it of several smaller objects",
                size, to_hex(home.value));
  }
  return Draft(*this, home, std::move(memory));
}

Result<Handle> ObjectAccess::publish(Draft& draft, const NewObject& object,
                                     std::string_view channel, std::span<const std::string> tags) {
  const Bytes bytes = draft.bytes();
  const PutRequest request{.home = draft.home(),
                           .object = object,
                           .parts = {&bytes, 1},
                           .channel = channel,
                           .tags = tags};
  if (draft.ticket() == 0 || goes_elsewhere(request)) return put(request);
  ObjectItem item = item_of(object, bytes.size());
  item.a = draft.ticket();
  const Ask how = object.persist ? Ask::slowly : Ask::at_once;  // a disk takes its time
  const auto made = ask_one(asking(), draft.home(), ObjectOp::commit, item, {}, 0, how);
  if (!made) {
    return fail(made.error().code, "publishing {} bytes at node {}: {}", bytes.size(),
                to_hex(draft.home().value), made.error().message);
  }
  draft.done();
  if (ends_with_maker(object)) hold(draft.home());
  return wire::handle_in(made->answer);
}

Result<Handle> ObjectAccess::publish_next(ObjectOp op, const ObjectItem& which, Draft& draft) {
  const Bytes bytes = draft.bytes();
  const bool there = draft.ticket() != 0 && draft.home() == NodeId{which.handle.home};
  // With channels the next version may have to go into one.
  if (!there || channels_ != nullptr) return settle(op, which, {&bytes, 1});
  ObjectItem item = which;
  item.a = draft.ticket();
  GODWIT_TRY(const AnsweredItem made, tell(op, item));
  draft.done();
  return wire::handle_in(made.answer);
}

}  // namespace godwit::ref
