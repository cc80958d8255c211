#include "ref/access/fetch.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"

namespace godwit::ref {

using wire::ObjectItem;
using wire::ObjectOp;

using ViewResult = Result<std::shared_ptr<const View>>;

ObjectAccess::Pieces::Pieces(ObjectAccess& access, const Handle& handle, std::uint64_t pin,
                             const ByteRange& range)
    : access_(access), handle_(handle), pin_(pin), range_(range), asked_(range.first) {
  ask();
}

void ObjectAccess::Pieces::ask() {
  while (asked_ < range_.end && under_way_.size() < kPiecesUnderWay) {
    const std::uint64_t size = std::min<std::uint64_t>(kPieceBytes, range_.end - asked_);
    const ObjectItem item{.handle = handle_, .a = asked_, .b = size, .d = 1};
    under_way_.push_back({start(access_.asking(),
                                {.home = NodeId{handle_.home},
                                 .op = ObjectOp::read,
                                 .items = {&item, 1},
                                 .argument = pin_},
                                Ask::slowly),
                          size});
    asked_ += size;
  }
}

Status ObjectAccess::Pieces::take_all(const Take& take) {
  for (; !under_way_.empty(); ask()) {
    Piece piece = std::move(under_way_.front());
    under_way_.pop_front();
    piece.call.wait();
    GODWIT_TRY(const Bytes bytes, answer_of(piece.call));
    GODWIT_TRY(const wire::ObjectAnswerView answer, wire::parse_object_answer(bytes));
    GODWIT_CHECK(check(answer));
    if (answer.tail.size() != piece.size) {
      return fail(ErrorCode::protocol_violation, "the home sent {} of {} bytes", answer.tail.size(),
                  piece.size);
    }
    GODWIT_CHECK(take(answer.tail));
  }
  return {};
}

Result<ObjectAccess::Coming> ObjectAccess::Fetch::begin(ObjectAccess& access, const Handle& handle,
                                                        const wire::ObjectAnswer& found) {
  Buffer room = Buffer::allocate(found.size);
  if (room.data() == nullptr) {
    access.hold(NodeId{handle.home});
    access.release(NodeId{handle.home}, found.value, found.size);
    return fail(ErrorCode::out_of_memory, "no memory for the {} bytes of object {}", found.size,
                handle.object.short_hex());
  }
  return Coming(std::make_unique<Fetch>(access, handle, found, std::move(room)));
}

ObjectAccess::Fetch::Fetch(ObjectAccess& access, const Handle& handle,
                           const wire::ObjectAnswer& found, Buffer room)
    : pin_(access, NodeId{handle.home}, found),
      handle_(handle),
      version_(found.version),
      room_(std::move(room)),
      pieces_(access, handle, found.value, {0, found.size}) {}

ViewResult ObjectAccess::Fetch::finish() {
  std::byte* next = room_.data();
  GODWIT_CHECK(pieces_.take_all([&next](Bytes piece) -> Status {
    std::memcpy(next, piece.data(), piece.size());
    next += piece.size();
    return {};
  }));
  auto owner = std::make_shared<const Buffer>(std::move(room_));
  const Bytes bytes = owner->view();
  return std::make_shared<const View>(
      View{handle_, version_, bytes, Path::stream, std::move(owner)});
}

ObjectAccess::Coming::Coming(std::shared_ptr<const View> here) noexcept : view(std::move(here)) {}
ObjectAccess::Coming::Coming(std::unique_ptr<Fetch> started) noexcept : fetch(std::move(started)) {}
ObjectAccess::Coming::Coming(Coming&&) noexcept = default;
ObjectAccess::Coming::~Coming() = default;

ViewResult ObjectAccess::Coming::finish() {
  if (fetch != nullptr) return fetch->finish();
  return std::move(view);
}

}  // namespace godwit::ref
