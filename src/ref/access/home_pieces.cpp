#include "ref/access/home_pieces.hpp"

#include <memory>
#include <utility>

#include "base/fail.hpp"
#include "call/caller.hpp"
#include "fabric/waiter.hpp"

namespace godwit::ref {

using wire::ObjectAnswer;
using wire::ObjectItem;
using wire::ObjectOp;

HomePieces::HomePieces(ObjectAccess& access, const Handle& handle, const ObjectAnswer& found)
    : access_(access),
      asking_(access.asking()),
      handle_(handle),
      version_(found.version),
      size_(found.size),
      pin_(found.value) {
  access_.hold(NodeId{handle.home});
}

HomePieces::~HomePieces() {
  access_.release(NodeId{handle_.home}, pin_, size_);
}

void HomePieces::ask(std::size_t slot, const ByteRange& bytes, Duration at_most) {
  const ObjectItem item{.handle = handle_, .a = bytes.first, .b = bytes.end - bytes.first, .d = 1};
  calls_[slot] = start(asking_,
                       {.home = NodeId{handle_.home},
                        .op = ObjectOp::read,
                        .items = {&item, 1},
                        .argument = pin_,
                        .time_left = at_most,
                        .flags = wire::ObjectRequest::kChecksum},
                       Ask::slowly);
}

bool HomePieces::wait(std::size_t slot, Duration at_most) {
  detail::CallHandle& call = calls_[slot];
  return at_most > Duration(0) ? call.wait(at_most) : !call || call.ended();
}

Result<ArrivedPiece> HomePieces::answer(std::size_t slot) {
  GODWIT_TRY(const Bytes bytes, answer_of(calls_[slot]));
  GODWIT_TRY(const wire::ObjectAnswerView answer, wire::parse_object_answer(bytes));
  GODWIT_CHECK(check(answer));
  if ((answer.fixed.flags & ObjectAnswer::kChecksum) == 0) {
    return fail(ErrorCode::protocol_violation, "the home sent bytes without their checksum");
  }
  return ArrivedPiece{answer.tail, answer.fixed.value};
}

// The answer's bytes lie in the call.
Buffer HomePieces::keep(std::size_t slot) {
  const auto piece = answer(slot);
  if (!piece || piece->bytes.empty()) return {};
  auto call = std::make_unique<detail::CallHandle>(std::move(calls_[slot]));
  // A buffer may be written to; who has this one only reads it.
  auto* const data = const_cast<std::byte*>(piece->bytes.data());
  return Buffer::adopt(data, piece->bytes.size(), call.release(),
                       [](void* owner, std::byte*, std::size_t) noexcept {
                         delete static_cast<detail::CallHandle*>(owner);
                       });
}

// It reads into the home's memory what a disk or a channel has.
Status HomePieces::find_again(Duration at_most) {
  const ObjectItem item{.handle = handle_};
  GODWIT_TRY(Answered answered, ref::ask(asking_,
                                         {.home = NodeId{handle_.home},
                                          .op = ObjectOp::locate,
                                          .items = {&item, 1},
                                          .time_left = at_most},
                                         Ask::slowly));
  GODWIT_TRY(const AnsweredItem found, finish_one(std::move(answered.call)));
  const ObjectAnswer& fixed = found.answer.fixed;
  if (fixed.version != version_ || fixed.size != size_) {
    access_.hold(NodeId{handle_.home});
    access_.release(NodeId{handle_.home}, fixed.value, fixed.size);
    return fail(ErrorCode::stale,
                "its home had to be asked for it again, and has version {} by now, "
                "not {}",
                fixed.version, version_);
  }
  pin_ = fixed.value;
  return {};
}

// The runtime goes on meanwhile, by this thread if need be.
void HomePieces::pause(Duration time) {
  fabric::Waiter nobody;
  asking_.caller.reactor().wait(nobody, now() + time);
}

Time HomePieces::now() const {
  return asking_.caller.reactor().now();
}

}  // namespace godwit::ref
