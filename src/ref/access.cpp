// Putting objects, and what else is done to them; resolve.cpp reads them.
#include "ref/access.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "base/fail.hpp"
#include "call/caller.hpp"
#include "ref/holdings.hpp"
#include "ref/mappings.hpp"

namespace godwit::ref {
namespace {

using wire::ObjectItem;
using wire::ObjectOp;

std::uint64_t total(std::span<const Bytes> parts) noexcept {
  std::uint64_t bytes = 0;
  for (const Bytes part : parts) bytes += part.size();
  return bytes;
}

ObjectItem item_of(const NewObject& object, std::uint64_t size) {
  ObjectItem item;
  item.handle.type = object.type;
  item.handle.size = size;
  const std::uint8_t flags =
      static_cast<std::uint8_t>((object.owned ? wire::PutTerms::kOwned : 0) |
                                (object.persist ? wire::PutTerms::kPersist : 0));
  item.set_terms({.lifetime = static_cast<std::uint8_t>(object.lifetime.kind),
                  .flags = flags,
                  .readers = object.lifetime.readers,
                  .lease_ns = object.lifetime.lease.count()});
  return item;
}

bool ends_with_maker(const NewObject& object) noexcept {
  return object.owned || object.lifetime.kind == LifetimeKind::holder;
}

// Walks through the parts in pieces of bounded size, each within one part.
class PieceWalk {
 public:
  explicit PieceWalk(std::span<const Bytes> parts) : parts_(parts) {}
  // Empty at the end.
  [[nodiscard]] Bytes next(std::size_t at_most) {
    while (!parts_.empty() && within_ == parts_.front().size()) {
      parts_ = parts_.subspan(1);
      within_ = 0;
    }
    if (parts_.empty()) return {};
    const Bytes part = parts_.front();
    const std::size_t size = std::min(at_most, part.size() - within_);
    const Bytes piece = part.subspan(within_, size);
    within_ += size;
    return piece;
  }

 private:
  std::span<const Bytes> parts_;
  std::size_t within_ = 0;
};

}  // namespace

std::uint64_t PutRequest::size() const noexcept {
  return total(parts);
}

ObjectAccess::ObjectAccess(AccessHost& host, ObjectStore* own)
    : host_(host),
      own_(own),
      holdings_(std::make_shared<Holdings>(Asking{host.caller(), host.epoch()})),
      mappings_(std::make_unique<Mappings>(host)) {}

ObjectAccess::~ObjectAccess() {
  holdings_->close();
}

Asking ObjectAccess::asking() {
  return {host_.caller(), host_.epoch()};
}

void ObjectAccess::hold(NodeId home) {
  holdings_->add(home);
}

void ObjectAccess::let_go(NodeId home) {
  holdings_->remove(home);
}

void ObjectAccess::release(NodeId home, std::uint64_t pin) {
  holdings_->release(home, pin);
}

// A reservation that has been filled, or is given back.
struct ObjectAccess::Room {
  ObjectAccess* access;
  NodeId home;
  std::uint64_t ticket;

  Room(ObjectAccess& owner, NodeId at, std::uint64_t number) noexcept
      : access(&owner), home(at), ticket(number) {}
  Room(Room&& other) noexcept
      : access(other.access), home(other.home), ticket(std::exchange(other.ticket, 0)) {}
  Room& operator=(Room&&) = delete;
  ~Room() {
    if (ticket == 0) return;
    ObjectItem item;
    item.a = ticket;
    start(access->asking(), {.home = home, .op = ObjectOp::abandon, .items = {&item, 1}},
          Ask::at_once)
        .detach();
  }
};

Result<ObjectAccess::Room> ObjectAccess::write_parts(NodeId home, std::span<const Bytes> parts) {
  ObjectItem item;
  item.handle.size = total(parts);
  GODWIT_TRY(const AnsweredItem reserved, ask_one(asking(), home, ObjectOp::reserve, item));
  const wire::ObjectAnswer& at = reserved.answer.fixed;
  Room room(*this, home, at.value);
  if (item.handle.size == 0) return room;
  GODWIT_TRY(const auto segment, mappings_->get({home, at.segment, fabric::Access::write}));
  if (segment == nullptr) {
    GODWIT_CHECK(write_pieces(home, at.value, parts));
    return room;
  }
  if (!segment->holds(at.offset, item.handle.size)) {
    return fail(ErrorCode::protocol_violation,
                "node {} has reserved {} bytes beyond the end of a segment", to_hex(home.value),
                item.handle.size);
  }
  std::byte* next = segment->data() + at.offset;
  for (const Bytes part : parts) {
    if (part.empty()) continue;
    std::memcpy(next, part.data(), part.size());
    next += part.size();
  }
  return room;
}

// Several messages under way at a time, so that neither side waits for the other.
Status ObjectAccess::write_pieces(NodeId home, std::uint64_t ticket, std::span<const Bytes> parts) {
  std::deque<detail::CallHandle> under_way;
  const auto finish_oldest = [&]() -> Status {
    detail::CallHandle call = std::move(under_way.front());
    under_way.pop_front();
    call.wait();
    GODWIT_TRY(const Bytes bytes, answer_of(call));
    GODWIT_TRY(const wire::ObjectAnswerView answer, wire::parse_object_answer(bytes));
    return check(answer);
  };
  PieceWalk walk(parts);
  std::uint64_t offset = 0;
  for (Bytes piece = walk.next(kPieceBytes); !piece.empty(); piece = walk.next(kPieceBytes)) {
    if (under_way.size() == kPiecesUnderWay) GODWIT_CHECK(finish_oldest());
    ObjectItem item;
    item.handle.size = piece.size();
    item.a = ticket;
    item.b = offset;
    under_way.push_back(start(
        asking(), {.home = home, .op = ObjectOp::write, .items = {&item, 1}, .tail = {&piece, 1}},
        Ask::slowly));
    offset += piece.size();
  }
  while (!under_way.empty()) GODWIT_CHECK(finish_oldest());
  return {};
}

Result<Handle> ObjectAccess::put(const PutRequest& request) {
  const std::uint64_t size = request.size();
  if (own_ != nullptr && request.home == host_.caller().engine().options().self) {
    return own_->put({request.home, host_.epoch()}, request.object, request.parts,
                     Arena::Wait::yes);
  }
  ObjectItem item = item_of(request.object, size);
  ObjectOp op = ObjectOp::put;
  Result<AnsweredItem> made;
  const Ask how = request.object.persist ? Ask::slowly : Ask::at_once;
  if (size <= kSmall) {
    made = ask_one(asking(), request.home, op, item, request.parts, 0, how);
  } else {
    GODWIT_TRY(Room room, write_parts(request.home, request.parts));
    item.a = room.ticket;
    op = ObjectOp::commit;
    made = ask_one(asking(), request.home, op, item, {}, 0, how);
    if (made) room.ticket = 0;
  }
  if (!made) {
    return fail(made.error().code, "putting {} bytes at node {}: {}", size,
                to_hex(request.home.value), made.error().message);
  }
  if (ends_with_maker(request.object)) hold(request.home);
  return wire::handle_in(made->answer);
}

Result<Handle> ObjectAccess::update(const Handle& handle, std::span<const Bytes> parts) {
  GODWIT_TRY(Room room, write_parts(NodeId{handle.home}, parts));
  ObjectItem item{.handle = handle, .a = room.ticket};
  GODWIT_TRY(const AnsweredItem made, tell(ObjectOp::update, item));
  room.ticket = 0;
  return wire::handle_in(made.answer);
}

Result<Handle> ObjectAccess::fulfil(const Handle& handle, std::span<const Bytes> parts) {
  GODWIT_TRY(Room room, write_parts(NodeId{handle.home}, parts));
  ObjectItem item{.handle = handle, .a = room.ticket};
  GODWIT_TRY(const AnsweredItem made, tell(ObjectOp::fulfil, item));
  room.ticket = 0;
  return wire::handle_in(made.answer);
}

// Large ones among them one by one, the others in as few messages as hold them.
std::vector<Result<Handle>> ObjectAccess::put_batch(NodeId home,
                                                    std::span<const PutRequest> requests) {
  constexpr std::size_t kMessageBytes = std::size_t{1} << 20;
  constexpr std::byte kZeros[wire::kObjectTailAlign] = {};
  std::vector<Result<Handle>> made(requests.size());
  std::vector<std::size_t> which;
  std::vector<ObjectItem> items;
  std::vector<Bytes> tail;
  std::size_t bytes = 0;
  const auto send = [&] {
    if (items.empty()) return;
    auto answered = ask(asking(), {.home = home, .op = ObjectOp::put, .items = items, .tail = tail},
                        Ask::slowly);
    auto answers = answered ? wire::parse_object_answers(answered->bytes, items.size())
                            : Result<std::vector<wire::ObjectAnswerView>>(
                                  tl::unexpected(std::move(answered).error()));
    for (std::size_t i = 0; i < which.size(); ++i) {
      Result<Handle>& result = made[which[i]];
      if (!answers) {
        result = tl::unexpected(answers.error());
      } else if (const Status good = check((*answers)[i]); !good) {
        result = tl::unexpected(good.error());
      } else {
        result = wire::handle_in((*answers)[i]);
        if (result && ends_with_maker(requests[which[i]].object)) hold(home);
      }
    }
    which.clear();
    items.clear();
    tail.clear();
    bytes = 0;
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::uint64_t size = requests[i].size();
    if (size > kSmall) {
      made[i] = put(requests[i]);
      continue;
    }
    if (bytes + size > kMessageBytes || items.size() == wire::kMaxObjectItems) send();
    which.push_back(i);
    items.push_back(item_of(requests[i].object, size));
    for (const Bytes part : requests[i].parts) tail.push_back(part);
    if (const std::size_t gap = wire::padded_tail(size) - size; gap > 0) {
      tail.push_back(Bytes(kZeros).first(gap));
    }
    bytes += wire::padded_tail(size);
  }
  send();
  return made;
}

Result<AnsweredItem> ObjectAccess::tell(ObjectOp op, const ObjectItem& item,
                                        std::span<const Bytes> tail) {
  return ask_one(asking(), NodeId{item.handle.home}, op, item, tail);
}

std::vector<Result<std::uint64_t>> ObjectAccess::tell_all(ObjectOp op,
                                                          std::span<const Handle> handles) {
  std::vector<Result<std::uint64_t>> results(handles.size());
  std::vector<bool> done(handles.size());
  for (std::size_t first = 0; first < handles.size(); ++first) {
    if (done[first]) continue;
    const std::uint64_t home = handles[first].home;
    std::vector<std::size_t> which;
    std::vector<ObjectItem> items;
    for (std::size_t i = first; i < handles.size() && items.size() < wire::kMaxObjectItems; ++i) {
      if (done[i] || handles[i].home != home) continue;
      done[i] = true;
      which.push_back(i);
      items.push_back({.handle = handles[i]});
    }
    auto answered = ask(asking(), {.home = NodeId{home}, .op = op, .items = items},
                        items.size() > kPiecesUnderWay ? Ask::slowly : Ask::at_once);
    auto answers = answered ? wire::parse_object_answers(answered->bytes, items.size())
                            : Result<std::vector<wire::ObjectAnswerView>>(
                                  tl::unexpected(std::move(answered).error()));
    for (std::size_t i = 0; i < which.size(); ++i) {
      Result<std::uint64_t>& result = results[which[i]];
      if (!answers) {
        result = tl::unexpected(answers.error());
      } else if (const Status good = check((*answers)[i]); good) {
        result = Result<std::uint64_t>((*answers)[i].fixed.value);
      } else if (good.error().code == ErrorCode::would_block) {
        auto again = ask_one(asking(), NodeId{home}, op, items[i], {}, 0, Ask::slowly);
        if (again) {
          result = Result<std::uint64_t>(again->answer.fixed.value);
        } else {
          result = tl::unexpected(std::move(again).error());
        }
      } else {
        result = tl::unexpected(good.error());
      }
    }
  }
  return results;
}

Result<std::vector<wire::ObjectFacts>> ObjectAccess::list(NodeId home, std::uint64_t at_most) {
  GODWIT_TRY(const Answered answered,
             ask(asking(), {.home = home, .op = ObjectOp::list, .argument = at_most}, Ask::slowly));
  GODWIT_TRY(const wire::ObjectAnswerView answer, wire::parse_object_answer(answered.bytes));
  std::vector<wire::ObjectFacts> facts(answer.tail.size() / sizeof(wire::ObjectFacts));
  if (!facts.empty()) {
    std::memcpy(facts.data(), answer.tail.data(), facts.size() * sizeof(wire::ObjectFacts));
  }
  return facts;
}

}  // namespace godwit::ref
