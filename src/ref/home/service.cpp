#include "ref/home/service.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "call/context.hpp"
#include "ref/home/answers.hpp"
#include "ref/home/elsewhere.hpp"
#include "ref/home/request.hpp"
#include "wire/stream.hpp"

namespace godwit::ref {
namespace {

using wire::ObjectAnswer;
using wire::ObjectItem;
using wire::ObjectOp;

Lifetime lifetime_of(const wire::PutTerms& terms) {
  return {static_cast<LifetimeKind>(terms.lifetime), terms.readers, Duration(terms.lease_ns)};
}

Result<NewObject> new_object(const ObjectItem& item) {
  const wire::PutTerms terms = item.terms();
  if (terms.lifetime > static_cast<std::uint8_t>(LifetimeKind::readers)) {
    return fail(ErrorCode::bad_format, "there is no lifetime of kind {}", terms.lifetime);
  }
  return NewObject{.type = item.handle.type,
                   .lifetime = lifetime_of(terms),
                   .owned = (terms.flags & wire::PutTerms::kOwned) != 0,
                   .persist = (terms.flags & wire::PutTerms::kPersist) != 0};
}

wire::ObjectFacts facts_of(const ObjectDescription& object) {
  using Facts = wire::ObjectFacts;
  Facts facts;
  facts.handle = object.handle;
  facts.lifetime = static_cast<std::uint8_t>(object.lifetime);
  const auto flag = [](bool set, std::uint8_t bit) { return set ? bit : std::uint8_t{0}; };
  facts.flags = static_cast<std::uint8_t>(
      flag(object.pending, Facts::kPending) | flag(object.persistent, Facts::kPersistent) |
      flag(object.spilled, Facts::kSpilled) | flag(object.pinned_by_user, Facts::kPinned) |
      flag(object.borrowed_for_writing, Facts::kBorrowedForWriting) |
      flag(object.elsewhere, Facts::kElsewhere));
  facts.readers_left = object.readers_left;
  if (object.time_left) facts.time_left_ns = object.time_left->count();
  if (object.owner) facts.owner = object.owner->node.value;
  facts.pins = object.pins;
  facts.borrows = object.borrows;
  facts.reads = object.reads;
  facts.age_ns = object.age.count();
  return facts;
}

// Of an item's data in the request's tail.
std::uint64_t data_bytes(ObjectOp op, const ObjectItem& item) {
  switch (op) {
    case ObjectOp::put:
    case ObjectOp::write: return item.handle.size;
    case ObjectOp::promise:
    case ObjectOp::reserve_elsewhere:
    case ObjectOp::break_promise: return item.b;
    case ObjectOp::update:
    case ObjectOp::fulfil: return item.a == 0 ? item.b : 0;
    default: return 0;
  }
}

}  // namespace

namespace {

// Where this thread's answer puts the waiters that it makes ready; null: they are told at once.
thread_local std::vector<std::uint64_t>* ready_here = nullptr;

}  // namespace

void ObjectService::ready(std::uint64_t waiter) const {
  if (ready_here != nullptr) {
    ready_here->push_back(waiter);
  } else {
    options_.wake(waiter);
  }
}

// A thread that waits for other homes may be answering meanwhile.
ObjectService::TellsReady::TellsReady(std::vector<std::uint64_t>* ready) noexcept
    : outer_(std::exchange(ready_here, ready)) {}
ObjectService::TellsReady::~TellsReady() {
  ready_here = outer_;
}

Result<bool> ObjectService::answer(const Asker& asker, Bytes bytes, call::ReplyBuffer& reply) {
  const TellsReady tells(asker.ready);
  return answer_now(asker, bytes, reply);
}

Result<bool> ObjectService::answer_now(const Asker& asker, Bytes bytes, call::ReplyBuffer& reply) {
  if (wire::is_stream_request(bytes) && streams_ != nullptr) {
    return streams_->answer(asker, bytes, reply);
  }
  GODWIT_TRY(const wire::ObjectRequestView view, wire::parse_object_request(bytes));
  const Request request{view.head,
                        asker,
                        {asker.node, Epoch{view.head.epoch}},
                        asker.may_wait ? Arena::Wait::yes : Arena::Wait::no};
  thread_local Answers answers;
  answers.clear();
  switch (view.head.op) {
    case ObjectOp::release: release_all(request, view.tail); break;
    case ObjectOp::renew:
      store_.renew(request.holder);
      if (streams_ != nullptr) streams_->renew(request.holder);
      break;
    case ObjectOp::leave:
      store_.leave(request.holder);
      if (streams_ != nullptr) streams_->leave(request.holder);
      break;
    case ObjectOp::list: list(request, answers); break;
    case ObjectOp::spread: GODWIT_CHECK(do_spread(request, view, answers)); break;
    case ObjectOp::wait: {
      GODWIT_TRY(const bool ready, wait(request, view.items, answers));
      if (!ready) {
        options_.on_use();
        return false;
      }
      break;
    }
    default: GODWIT_CHECK(do_items(request, view, answers));
  }
  options_.on_use();
  GODWIT_CHECK(answers.write_to(reply));
  return true;
}

void ObjectService::release_all(const Request& request, Bytes pins) {
  std::uint64_t pin = 0;
  for (; pins.size() >= sizeof pin; pins = pins.subspan(sizeof pin)) {
    std::memcpy(&pin, pins.data(), sizeof pin);
    store_.release(request.holder, pin);
  }
}

// False: the answer comes when the call runs again.
Result<bool> ObjectService::wait(const Request& request, std::span<const ObjectItem> items,
                                 Answers& answers) {
  if (items.size() != 1) {
    return fail(ErrorCode::bad_format, "one object is waited for at a time");
  }
  const ObjectItem& item = items.front();
  // Asked slowly it is not waited for, but brought back from a disk: it was there before.
  if (request.asker.waiter != 0 && !request.asker.has_waited) {
    GODWIT_TRY(const bool ready, store_.wait(item.handle, item.a, request.asker.waiter));
    if (!ready) return false;
  }
  if (item.c != 0) {
    answers.add();
    return true;
  }
  Handle now = item.handle;
  if (item.a != 0) {
    GODWIT_TRY(now, store_.newest(item.handle));
  }
  answers.add();
  GODWIT_CHECK(do_locate(request, {.handle = now, .b = item.b}, answers));
  return true;
}

// What fails of several is said of that one; what fails of one is said of the whole.
Status ObjectService::do_items(const Request& request, const wire::ObjectRequestView& view,
                               Answers& answers) {
  Bytes rest = view.tail;
  for (const ObjectItem& item : view.items) {
    const std::size_t size = data_bytes(view.head.op, item);
    if (size > rest.size()) {
      return fail(ErrorCode::bad_format, "an object's bytes are missing in the message");
    }
    const Bytes data = rest.first(size);
    rest = rest.subspan(std::min(rest.size(), wire::padded_tail(size)));
    answers.add();
    const Status done = do_item(request, item, data, answers);
    if (done) continue;
    if (view.items.size() == 1) return done;
    answers.fail(done.error());
  }
  return {};
}

Status ObjectService::do_item(const Request& request, const ObjectItem& item, Bytes data,
                              Answers& answers) {
  switch (request.head.op) {
    case ObjectOp::put:
    case ObjectOp::reserve:
    case ObjectOp::write:
    case ObjectOp::commit:
    case ObjectOp::abandon:
    case ObjectOp::update: return do_put(request, item, data, answers);
    case ObjectOp::locate: return do_locate(request, item, answers);
    case ObjectOp::read: return do_read(request, item, answers);
    case ObjectOp::reserve_elsewhere: return do_reserve_elsewhere(request, item, data, answers);
    case ObjectOp::fetch: return do_fetch(request, item, answers);
    case ObjectOp::evict: return store_.evict(item.handle, request.wait);
    case ObjectOp::exists: answers.last().value = store_.exists(item.handle) ? 1 : 0; return {};
    case ObjectOp::newest: {
      GODWIT_TRY(const Handle newest, store_.newest(item.handle));
      answers.append(newest);
      return {};
    }
    case ObjectOp::describe: {
      GODWIT_TRY(const ObjectDescription object, store_.describe(item.handle));
      const wire::ObjectFacts facts = facts_of(object);
      const std::string_view channel =
          object.channel != 0 ? store_.channels()->name_of(object.channel) : std::string_view();
      answers.append(bytes_of_value(facts), bytes_of(channel));
      return {};
    }
    case ObjectOp::set_lifetime:
      return store_.set_lifetime(item.handle, lifetime_of(item.terms()), request.holder,
                                 request.wait);
    case ObjectOp::set_pinned: return store_.set_pinned(item.handle, item.a != 0);
    case ObjectOp::restrict_to: {
      GODWIT_TRY(const Handle less,
                 store_.restrict(item.handle, static_cast<Rights>(item.a & 0xFFFFU)));
      answers.append(less);
      return {};
    }
    case ObjectOp::promise:
    case ObjectOp::take_over:
    case ObjectOp::fulfil:
    case ObjectOp::break_promise: return do_promise(request, item, data, answers);
    default: return do_ownership(request, item, answers);
  }
}

Status ObjectService::do_put(const Request& request, const ObjectItem& item, Bytes data,
                             Answers& answers) {
  ObjectAnswer& answer = answers.last();
  switch (request.head.op) {
    case ObjectOp::reserve: {
      GODWIT_TRY(const Reservation room,
                 store_.reserve(request.holder, item.handle.size, request.wait));
      answer.value = room.ticket;
      answer.segment = room.segment;
      answer.offset = room.offset;
      answer.size = room.size;
      return {};
    }
    case ObjectOp::write: return store_.write(request.holder, item.a, item.b, data);
    case ObjectOp::abandon: store_.abandon(request.holder, item.a); return {};
    case ObjectOp::update: return do_settle(request, item, data, answers);
    default: break;
  }
  GODWIT_TRY(const NewObject object, new_object(item));
  Voucher voucher;
  Result<Handle> made = request.head.op == ObjectOp::commit
                            ? store_.commit(request.holder, item.a, object, request.wait)
                            : store_.put(request.holder, object, {&data, 1}, request.wait,
                                         item.b != 0 ? &voucher : nullptr);
  if (!made) return tl::unexpected(std::move(made).error());
  append_vouched(bytes_of_value(*made), voucher, answers);
  return {};
}

// What was written under a ticket, or came with the message, becomes a version.
Status ObjectService::do_settle(const Request& request, const ObjectItem& item, Bytes data,
                                Answers& answers) {
  const ObjectOp op = request.head.op;
  const ObjectStore::Writer writer(request.holder, item.c);
  auto made = item.a == 0 ? settle_own(writer, op, item.handle, {&data, 1}, request.wait)
                          : publish(writer, op, item.handle, item.a, request.wait);
  if (!made) return tl::unexpected(std::move(made).error());
  answers.append(*made);
  return {};
}

Status ObjectService::do_ownership(const Request& request, const ObjectItem& item,
                                   Answers& answers) {
  switch (request.head.op) {
    case ObjectOp::own: return store_.own(request.holder, item.handle);
    case ObjectOp::disown: return store_.disown(request.holder, item.handle);
    case ObjectOp::drop: return store_.drop(request.holder, item.handle);
    case ObjectOp::accept: return store_.accept(request.holder, item.handle, item.a);
    case ObjectOp::give_back: store_.give_back(request.holder, item.a); return {};
    case ObjectOp::offer: {
      const auto lease = Duration(static_cast<std::int64_t>(item.a));
      GODWIT_TRY(answers.last().value, store_.offer(request.holder, item.handle, lease));
      return {};
    }
    case ObjectOp::borrow: {
      const auto kind =
          item.a == 0 ? ObjectStore::BorrowKind::read : ObjectStore::BorrowKind::write;
      GODWIT_TRY(answers.last().value, store_.borrow(request.holder, item.handle, kind));
      return {};
    }
    default:
      return fail(ErrorCode::bad_format, "there is no operation {} on objects",
                  static_cast<unsigned>(request.head.op));
  }
}

Status ObjectService::do_promise(const Request& request, const ObjectItem& item, Bytes data,
                                 Answers& answers) {
  switch (request.head.op) {
    case ObjectOp::promise: {
      GODWIT_TRY(NewObject object, new_object(item));
      if (!data.empty()) {
        GODWIT_TRY(object.channel, channel_named(data));
      }
      const auto at_most = Duration(static_cast<std::int64_t>(item.a));
      GODWIT_TRY(const Handle made, store_.promise(request.holder, object, at_most));
      answers.append(made);
      return {};
    }
    case ObjectOp::fulfil: return do_settle(request, item, data, answers);
    case ObjectOp::take_over: return store_.take_over(request.holder, item.handle);
    default:
      return store_.break_promise(
          item.handle, {static_cast<ErrorCode>(item.a & 0xFFFFU), std::string(text_of(data))});
  }
}

void ObjectService::list(const Request& request, Answers& answers) {
  const auto most = std::min<std::uint64_t>(request.head.argument, kMaxListed);
  const std::vector<ObjectDescription> objects = store_.list(most);
  answers.add().value = store_.stats().objects;
  std::span<std::byte> room = answers.append_room(objects.size() * sizeof(wire::ObjectFacts));
  for (const ObjectDescription& object : objects) {
    const wire::ObjectFacts facts = facts_of(object);
    std::memcpy(room.data(), &facts, sizeof facts);
    room = room.subspan(sizeof facts);
  }
}

}  // namespace godwit::ref
