// The door of Ref<T> and its kin to everything below them.
#include "godwit/detail/object_door.hpp"

#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "code/types/type.hpp"
#include "ref/access/access.hpp"
#include "ref/access/terms.hpp"

namespace godwit {

std::string_view to_string(ResolvedBy how) noexcept {
  switch (how) {
    case ResolvedBy::pointer: return "pointer";
    case ResolvedBy::mapping: return "mapping";
    case ResolvedBy::message: return "message";
    case ResolvedBy::stream: return "stream";
    case ResolvedBy::channel: return "channel";
    case ResolvedBy::copy: return "copy";
  }
  return "unknown";
}

}  // namespace godwit

namespace godwit::detail {
namespace {

using wire::ObjectItem;
using wire::ObjectOp;

static_assert(static_cast<int>(ResolvedBy::copy) == static_cast<int>(ref::Path::copy));

Result<ObjectView> viewed(Result<std::shared_ptr<const ref::View>> view) {
  if (!view) return tl::unexpected(std::move(view).error());
  const ref::View& found = **view;
  return ObjectView{found.handle, found.version, found.bytes, static_cast<ResolvedBy>(found.path),
                    *std::move(view)};
}

ObjectStatus status_of(const wire::ObjectFacts& facts) {
  using Facts = wire::ObjectFacts;
  ObjectStatus status;
  status.handle = facts.handle;
  status.lifetime = static_cast<Lifetime::Kind>(facts.lifetime);
  if (facts.time_left_ns >= 0) status.time_left = std::chrono::nanoseconds(facts.time_left_ns);
  status.readers_left = facts.readers_left;
  status.owner = facts.owner;
  status.pins = facts.pins;
  status.borrows = facts.borrows;
  status.borrowed_for_writing = (facts.flags & Facts::kBorrowedForWriting) != 0;
  status.pinned = (facts.flags & Facts::kPinned) != 0;
  status.pending = (facts.flags & Facts::kPending) != 0;
  status.persistent = (facts.flags & Facts::kPersistent) != 0;
  status.spilled = (facts.flags & Facts::kSpilled) != 0;
  status.elsewhere = (facts.flags & Facts::kElsewhere) != 0;
  status.reads = facts.reads;
  status.age = std::chrono::nanoseconds(facts.age_ns);
  return status;
}

// One that has no answer beyond whether it was done.
Status done(Result<ref::AnsweredItem> answered) {
  if (!answered) return tl::unexpected(std::move(answered).error());
  return {};
}

Result<Handle> handle_of(Result<ref::AnsweredItem> answered) {
  if (!answered) return tl::unexpected(std::move(answered).error());
  return wire::handle_in(answered->answer);
}

Result<std::uint64_t> value_of(Result<ref::AnsweredItem> answered) {
  if (!answered) return tl::unexpected(std::move(answered).error());
  return Result<std::uint64_t>(answered->answer.fixed.value);
}

// For those who have nobody to tell of a failure: the home ends by itself what is left there.
void tell_and_forget(ref::ObjectAccess& access, ObjectOp op, const ObjectItem& item) noexcept {
  start(access.asking(), {.home = NodeId{item.handle.home}, .op = op, .items = {&item, 1}},
        ref::Ask::at_once)
      .detach();
}

}  // namespace

std::uint64_t hash_of_type(std::string_view type) {
  return code::type_hash(type);
}

call::Caller& ObjectDoor::caller() const noexcept {
  return access_->asking().caller;
}

Result<Handle> ObjectDoor::put(std::uint64_t home, const NewObjectTerms& terms,
                               ObjectParts parts) const {
  return access_->put({.home = NodeId{home},
                       .object = ref::new_object(terms),
                       .parts = parts,
                       .channel = terms.options.channel,
                       .tags = terms.options.tags});
}

std::vector<Result<Handle>> ObjectDoor::put_all(std::uint64_t home, const NewObjectTerms& terms,
                                                ObjectParts objects) const {
  std::vector<ref::PutRequest> requests;
  requests.reserve(objects.size());
  for (const auto& object : objects) {
    requests.push_back({.home = NodeId{home},
                        .object = ref::new_object(terms),
                        .parts = {&object, 1},
                        .channel = terms.options.channel,
                        .tags = terms.options.tags});
  }
  return access_->put_batch(NodeId{home}, requests);
}

Result<ObjectView> ObjectDoor::resolve(const Handle& handle) const {
  return viewed(access_->resolve(handle));
}

CallHandle ObjectDoor::begin_resolve(const Handle& handle) const {
  return access_->begin_resolve(handle);
}

Result<ObjectView> ObjectDoor::finish_resolve(const Handle& handle, CallHandle call) const {
  return viewed(access_->finish_resolve(handle, std::move(call)));
}

std::vector<Result<ObjectView>> ObjectDoor::resolve_all(std::span<const Handle> handles) const {
  std::vector<Result<ObjectView>> views;
  views.reserve(handles.size());
  for (auto& view : access_->resolve_batch(handles)) views.push_back(viewed(std::move(view)));
  return views;
}

Result<ObjectView> ObjectDoor::await(const Handle& handle, std::uint64_t newer_than,
                                     std::chrono::nanoseconds at_most) const {
  return viewed(access_->await(handle, newer_than, at_most));
}

CallHandle ObjectDoor::begin_wait(const Handle& handle, std::chrono::nanoseconds at_most) const {
  return access_->begin_wait(handle, 0, at_most);
}

Result<ObjectView> ObjectDoor::finish_wait(const Handle& handle, CallHandle call,
                                           std::chrono::nanoseconds at_most) const {
  return viewed(access_->finish_wait(handle, 0, std::move(call), at_most));
}

Result<std::vector<std::byte>> ObjectDoor::read(const Handle& handle,
                                                const ObjectSelection& selection) const {
  GODWIT_TRY(const Buffer bytes, access_->read(handle, selection));
  return std::vector<std::byte>(bytes.view().begin(), bytes.view().end());
}

Result<bool> ObjectDoor::exists(const Handle& handle) const {
  GODWIT_TRY(const std::uint64_t value,
             value_of(access_->tell(ObjectOp::exists, {.handle = handle})));
  return Result<bool>(value != 0);
}

Result<ResolveDecision> ObjectDoor::explain(const Handle& handle) const {
  return access_->explain(handle);
}

Status ObjectDoor::evict(const Handle& handle) const {
  access_->drop_views({&handle, 1});
  return done(access_->tell(ObjectOp::evict, {.handle = handle}));
}

std::vector<Status> ObjectDoor::evict_all(std::span<const Handle> handles) const {
  std::vector<Status> results;
  results.reserve(handles.size());
  access_->drop_views(handles);
  for (auto& result : access_->tell_all(ObjectOp::evict, handles)) {
    results.push_back(result ? Status() : Status(tl::unexpected(std::move(result).error())));
  }
  return results;
}

Result<ObjectStatus> ObjectDoor::status(const Handle& handle) const {
  GODWIT_TRY(const ref::AnsweredItem answered,
             access_->tell(ObjectOp::describe, {.handle = handle}));
  wire::ObjectFacts facts;
  if (answered.answer.tail.size() < sizeof facts) {
    return fail(ErrorCode::bad_format, "the home describes the object in an unknown way");
  }
  std::memcpy(&facts, answered.answer.tail.data(), sizeof facts);
  ObjectStatus status = status_of(facts);
  status.channel = text_of(answered.answer.tail.subspan(sizeof facts));
  return status;
}

Result<std::vector<ObjectStatus>> ObjectDoor::list(std::uint64_t home, std::size_t at_most) const {
  GODWIT_TRY(const std::vector<wire::ObjectFacts> all, access_->list(NodeId{home}, at_most));
  std::vector<ObjectStatus> objects;
  objects.reserve(all.size());
  for (const wire::ObjectFacts& facts : all) objects.push_back(status_of(facts));
  return objects;
}

Status ObjectDoor::set_lifetime(const Handle& handle, const Lifetime& lifetime) const {
  ObjectItem item{.handle = handle};
  item.set_terms({.lifetime = static_cast<std::uint8_t>(lifetime.kind()),
                  .readers = lifetime.reader_count(),
                  .lease_ns = lifetime.time().count()});
  GODWIT_CHECK(done(access_->tell(ObjectOp::set_lifetime, item)));
  if (lifetime.kind() == Lifetime::Kind::process) access_->hold(NodeId{handle.home});
  return {};
}

Status ObjectDoor::set_pinned(const Handle& handle, bool pinned) const {
  return done(access_->tell(ObjectOp::set_pinned, {.handle = handle, .a = pinned ? 1U : 0U}));
}

Result<Handle> ObjectDoor::newest(const Handle& handle) const {
  return access_->newest(handle);
}

Result<Handle> ObjectDoor::restrict_to(const Handle& handle, Rights rights) const {
  return handle_of(access_->tell(ObjectOp::restrict_to,
                                 {.handle = handle, .a = static_cast<std::uint64_t>(rights)}));
}

Result<Handle> ObjectDoor::update(const Handle& handle, ObjectParts parts,
                                  std::uint64_t borrow) const {
  return access_->update(handle, parts, borrow);
}

// --- Ownership ----------------------------------------------------------------------------------

Status ObjectDoor::own(const Handle& handle) const {
  GODWIT_CHECK(done(access_->tell(ObjectOp::own, {.handle = handle})));
  access_->hold(NodeId{handle.home});
  return {};
}

Status ObjectDoor::disown(const Handle& handle) const {
  GODWIT_CHECK(done(access_->tell(ObjectOp::disown, {.handle = handle})));
  access_->let_go(NodeId{handle.home});
  return {};
}

void ObjectDoor::drop_owned(const Handle& handle) const noexcept {
  access_->drop_views({&handle, 1});
  tell_and_forget(*access_, ObjectOp::drop, {.handle = handle});
  access_->let_go(NodeId{handle.home});
}

Result<std::uint64_t> ObjectDoor::offer(const Handle& handle,
                                        std::chrono::nanoseconds lease) const {
  return value_of(access_->tell(
      ObjectOp::offer, {.handle = handle, .a = static_cast<std::uint64_t>(lease.count())}));
}

Status ObjectDoor::accept(const Handle& handle, std::uint64_t offer) const {
  GODWIT_CHECK(done(access_->tell(ObjectOp::accept, {.handle = handle, .a = offer})));
  access_->hold(NodeId{handle.home});
  return {};
}

Result<std::uint64_t> ObjectDoor::borrow(const Handle& handle, bool to_write) const {
  GODWIT_TRY(
      const std::uint64_t borrow,
      value_of(access_->tell(ObjectOp::borrow, {.handle = handle, .a = to_write ? 1U : 0U})));
  access_->hold(NodeId{handle.home});
  return Result<std::uint64_t>(borrow);
}

void ObjectDoor::give_back(const Handle& handle, std::uint64_t borrow) const noexcept {
  tell_and_forget(*access_, ObjectOp::give_back, {.handle = handle, .a = borrow});
  access_->let_go(NodeId{handle.home});
}

// --- Promises -----------------------------------------------------------------------------------

Result<Handle> ObjectDoor::promise(std::uint64_t home, const NewObjectTerms& terms,
                                   std::chrono::nanoseconds at_most) const {
  ObjectItem item;
  item.handle.type = terms.type;
  item.handle.home = home;
  item.a = static_cast<std::uint64_t>(at_most.count());
  item.set_terms({.lifetime = static_cast<std::uint8_t>(terms.options.lifetime.kind()),
                  .flags = terms.options.persist ? wire::PutTerms::kPersist : std::uint8_t{0},
                  .readers = terms.options.lifetime.reader_count(),
                  .lease_ns = terms.options.lifetime.time().count()});
  const bool elsewhere = !terms.options.channel.empty() && terms.options.channel != "memory";
  const Bytes channel = bytes_of(terms.options.channel);
  if (elsewhere) item.b = channel.size();
  GODWIT_TRY(const Handle made, handle_of(access_->tell(ObjectOp::promise, item,
                                                        std::span(&channel, elsewhere ? 1U : 0U))));
  access_->hold(NodeId{home});
  return made;
}

Result<Handle> ObjectDoor::fulfil(const Handle& handle, ObjectParts parts) const {
  return access_->fulfil(handle, parts);
}

Status ObjectDoor::break_promise(const Handle& handle, ErrorCode code, std::string_view why) const {
  return access_->break_promise(handle, code, why);
}

Status ObjectDoor::take_over(const Handle& handle) const {
  GODWIT_CHECK(done(access_->tell(ObjectOp::take_over, {.handle = handle})));
  access_->hold(NodeId{handle.home});
  return {};
}

void ObjectDoor::forget_promise(const Handle& handle) const noexcept {
  access_->let_go(NodeId{handle.home});
}

}  // namespace godwit::detail
