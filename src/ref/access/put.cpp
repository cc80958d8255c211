// Making objects, wherever their home is.
#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "base/fail.hpp"
#include "base/parts.hpp"
#include "call/caller.hpp"
#include "ref/access/access.hpp"
#include "ref/access/copied_view.hpp"
#include "ref/access/kept_views.hpp"
#include "ref/access/mappings.hpp"
#include "ref/access/put_item.hpp"
#include "ref/access/room.hpp"

namespace godwit::ref {
namespace {

using wire::ObjectItem;
using wire::ObjectOp;

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

// Of many nothing is kept: the home shows what it vouches for, and who resolves one, here or in
// another process, copies it from there.
Result<Handle> made_handle(wire::ObjectAnswerView answer) {
  static_cast<void>(wire::take_voucher(answer));
  return wire::handle_in(answer);
}

}  // namespace

Result<MutableBytes> memory_of_room(NodeId home, const wire::ObjectAnswer& at,
                                    const MappedSegment& segment, std::uint64_t size) {
  if (segment.holds(at.offset, size)) return MutableBytes{segment.data() + at.offset, size};
  return fail(ErrorCode::protocol_violation,
              "node {} has reserved {} bytes beyond the end of a segment", to_hex(home.value),
              size);
}

std::uint64_t PutRequest::size() const noexcept {
  return total_size(parts);
}

void ObjectAccess::abandon_room(NodeId home, std::uint64_t ticket) {
  ObjectItem item;
  item.a = ticket;
  start(asking(), {.home = home, .op = ObjectOp::abandon, .items = {&item, 1}}, Ask::at_once)
      .detach();
}

Result<std::uint64_t> ObjectAccess::write_room(NodeId home, std::span<const Bytes> parts) {
  GODWIT_TRY(Room room, write_parts(home, parts));
  return std::exchange(room.ticket, 0);
}

Result<ObjectAccess::Room> ObjectAccess::write_parts(NodeId home, std::span<const Bytes> parts,
                                                     const Progress* progress) {
  ObjectItem item;
  item.handle.size = total_size(parts);
  GODWIT_TRY(const AnsweredItem reserved, ask_one(asking(), home, ObjectOp::reserve, item));
  const wire::ObjectAnswer& at = reserved.answer.fixed;
  return fill(Room(*this, home, at.value), at, parts, progress);
}

Result<ObjectAccess::Room> ObjectAccess::fill(Room room, const wire::ObjectAnswer& at,
                                              std::span<const Bytes> parts,
                                              const Progress* progress) {
  const std::uint64_t size = total_size(parts);
  if (size == 0) return room;
  GODWIT_TRY(const auto segment, mappings_->get({room.home, at.segment, fabric::Access::write}));
  if (segment == nullptr) {
    GODWIT_CHECK(write_pieces(room, parts, progress));
    return room;
  }
  GODWIT_TRY(const MutableBytes memory, memory_of_room(room.home, at, *segment, size));
  const std::size_t most = progress != nullptr ? kProgressBytes : SIZE_MAX;
  PieceWalk walk(parts);
  std::uint64_t done = 0;
  for (Bytes piece = walk.next(most); !piece.empty(); piece = walk.next(most)) {
    std::memcpy(memory.data() + done, piece.data(), piece.size());
    done += piece.size();
    if (progress != nullptr) (*progress)(done);
  }
  return room;
}

// Several messages under way at a time, so that neither side waits for the other.
Status ObjectAccess::write_pieces(const Room& room, std::span<const Bytes> parts,
                                  const Progress* progress) {
  struct Piece {
    detail::CallHandle call;
    std::uint64_t end;
  };
  std::deque<Piece> under_way;
  const auto finish_oldest = [&]() -> Status {
    Piece piece = std::move(under_way.front());
    under_way.pop_front();
    piece.call.wait();
    GODWIT_TRY(const Bytes bytes, answer_of(piece.call));
    GODWIT_TRY(const wire::ObjectAnswerView answer, wire::parse_object_answer(bytes));
    GODWIT_CHECK(check(answer));
    if (progress != nullptr) (*progress)(piece.end);
    return {};
  };
  PieceWalk walk(parts);
  std::uint64_t offset = 0;
  for (Bytes piece = walk.next(kPieceBytes); !piece.empty(); piece = walk.next(kPieceBytes)) {
    if (under_way.size() == kPiecesUnderWay) GODWIT_CHECK(finish_oldest());
    ObjectItem item;
    item.handle.size = piece.size();
    item.a = room.ticket;
    item.b = offset;
    offset += piece.size();
    under_way.push_back(
        {start(asking(),
               {.home = room.home, .op = ObjectOp::write, .items = {&item, 1}, .tail = {&piece, 1}},
               Ask::slowly),
         offset});
  }
  while (!under_way.empty()) GODWIT_CHECK(finish_oldest());
  return {};
}

// One round trip, where room that is asked for first, written and used would take three.
bool ObjectAccess::fits_message(NodeId home, std::uint64_t size) {
  return size <= kPieceBytes && mappings_->is_far(home);
}

Result<Handle> ObjectAccess::put(const PutRequest& request) {
  if (channels_ == nullptr && request.channel.empty()) return put_in_memory(request);
  return put_by_policy(request);
}

Result<Handle> ObjectAccess::put_in_memory(const PutRequest& request) {
  const std::uint64_t size = request.size();
  if (is_own(request.home)) {
    return own_->put({request.home, host_.epoch()}, request.object, request.parts,
                     Arena::Wait::yes);
  }
  ObjectItem item = item_of(request.object, size);
  ObjectOp op = ObjectOp::put;
  Result<AnsweredItem> made;
  const Ask how = request.object.persist ? Ask::slowly : Ask::at_once;  // a disk takes its time
  Vouching vouching;
  if (size <= kSmall) {
    vouching = kept_->vouching(request.home);
    item.b = vouching.wanted();
    made = ask_one(asking(), request.home, op, item, request.parts, 0, how);
  } else if (fits_message(request.home, size)) {
    made = ask_one(asking(), request.home, op, item, request.parts, 0, Ask::slowly);
    if (made && request.progress != nullptr) (*request.progress)(size);
  } else {
    GODWIT_TRY(Room room, write_parts(request.home, request.parts, request.progress));
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
  const auto voucher = wire::take_voucher(made->answer);
  GODWIT_TRY(const Handle handle, wire::handle_in(made->answer));
  if (voucher) keep_own(handle, request.parts, *voucher, vouching);
  return handle;
}

// Whoever has made it knows it: small ones are not even copied, if they are resolved soon.
void ObjectAccess::keep_own(const Handle& handle, std::span<const Bytes> parts,
                            const wire::VoucherTerms& voucher, const Vouching& asked) {
  if (handle.size != total_size(parts)) return;  // the home says so, and is not relied on
  Buffer copy = Buffer::allocate(handle.size);
  if (copy.data() == nullptr) return;
  gather(parts, copy.data());
  kept_->keep_put(view_of_copy(handle, handle.version, std::move(copy), Path::message), voucher,
                  asked);
}

Result<Handle> ObjectAccess::update(const Handle& handle, std::span<const Bytes> parts,
                                    std::uint64_t borrow) {
  return settle(ObjectOp::update, {.handle = handle, .c = borrow}, parts);
}

Result<Handle> ObjectAccess::fulfil(const Handle& handle, std::span<const Bytes> parts) {
  return settle(ObjectOp::fulfil, {.handle = handle}, parts);
}

Status ObjectAccess::break_promise(const Handle& handle, ErrorCode code, std::string_view why) {
  ObjectItem item{.handle = handle, .a = static_cast<std::uint64_t>(code)};
  item.b = why.size();
  const Bytes tail = bytes_of(why);
  auto told = tell(ObjectOp::break_promise, item, {&tail, 1});
  return told ? Status{} : Status(tl::unexpected(std::move(told).error()));
}

// Few bytes come along in the message: whoever waits for them waits for one round trip, not two.
Result<Handle> ObjectAccess::settle(ObjectOp op, ObjectItem item, std::span<const Bytes> parts) {
  const std::uint64_t size = total_size(parts);
  const Handle& handle = item.handle;
  if (size <= kSmall) {
    item.b = size;
    GODWIT_TRY(const AnsweredItem made, tell(op, item, parts));
    return wire::handle_in(made.answer);
  }
  if (channels_ == nullptr && fits_message(NodeId{handle.home}, size)) {
    item.b = size;
    GODWIT_TRY(const AnsweredItem made,
               ask_one(asking(), NodeId{handle.home}, op, item, parts, 0, Ask::slowly));
    return wire::handle_in(made.answer);
  }
  GODWIT_TRY(Room room, channels_ != nullptr ? write_next(handle, parts)
                                             : write_parts(NodeId{handle.home}, parts));
  item.a = room.ticket;
  GODWIT_TRY(const AnsweredItem made, tell(op, item));
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
  const std::uint64_t vouched = kept_->vouching(home).wanted();
  const auto send = [&] {
    if (items.empty()) return;
    const auto all = ask_all(
        asking(), {.home = home, .op = ObjectOp::put, .items = items, .tail = tail}, Ask::slowly);
    for (std::size_t i = 0; i < which.size(); ++i) {
      Result<Handle>& result = made[which[i]];
      const auto answer = answer_to(all, i);
      result = answer ? made_handle(*answer) : Result<Handle>(tl::unexpected(answer.error()));
      if (result && ends_with_maker(requests[which[i]].object)) hold(home);
    }
    which.clear();
    items.clear();
    tail.clear();
    bytes = 0;
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::uint64_t size = requests[i].size();
    if (size > kSmall || goes_elsewhere(requests[i])) {
      made[i] = put(requests[i]);
      continue;
    }
    if (bytes + size > kMessageBytes || items.size() == wire::kMaxObjectItems) send();
    which.push_back(i);
    items.push_back(item_of(requests[i].object, size));
    items.back().b = vouched;
    for (const Bytes part : requests[i].parts) tail.push_back(part);
    if (const std::size_t gap = wire::padded_tail(size) - size; gap > 0) {
      tail.push_back(Bytes(kZeros).first(gap));
    }
    bytes += wire::padded_tail(size);
  }
  send();
  return made;
}

}  // namespace godwit::ref
