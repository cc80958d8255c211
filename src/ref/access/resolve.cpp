// Reading objects, wherever their home is.
#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "base/fail.hpp"
#include "call/caller.hpp"
#include "ref/access/access.hpp"
#include "ref/access/holdings.hpp"
#include "ref/access/kept_views.hpp"
#include "ref/access/mappings.hpp"
#include "ref/access/measured_paths.hpp"
#include "ref/home/pin_keeper.hpp"

namespace godwit::ref {
namespace {

using wire::ObjectAnswer;
using wire::ObjectItem;
using wire::ObjectOp;

using ViewResult = Result<std::shared_ptr<const View>>;

// An object's memory at its home stays while this lives.
class RemotePin {
 public:
  RemotePin(ObjectAccess& access, NodeId home, const ObjectAnswer& found) noexcept
      : access_(access), home_(home), pin_(found.value), bytes_(found.size) {
    access_.hold(home_);
  }
  RemotePin(const RemotePin&) = delete;
  RemotePin& operator=(const RemotePin&) = delete;
  ~RemotePin() { access_.release(home_, pin_, bytes_); }

 private:
  ObjectAccess& access_;
  NodeId home_;
  std::uint64_t pin_;
  std::uint64_t bytes_;
};

// What a view of a mapped object keeps.
struct Mapped {
  SegmentMap::Mapped segment;
  RemotePin pin;
  Mapped(SegmentMap::Mapped memory, ObjectAccess& access, NodeId home,
         const ObjectAnswer& found) noexcept
      : segment(std::move(memory)), pin(access, home, found) {}
};

Error in_context(const Handle& handle, const Error& error) {
  return {error.code, fmt::format("resolving object {} of node {}: {}", handle.object.short_hex(),
                                  to_hex(handle.home), error.message)};
}

Result<AnsweredItem> locate_one(const Asking& asking, const Question& question,
                                Ask how = Ask::at_once) {
  GODWIT_TRY(Answered answered, ask(asking, question, how));
  return finish_one(std::move(answered.call));
}

}  // namespace

bool ObjectAccess::is_own(NodeId home) {
  return own_ != nullptr && home == host_.caller().engine().options().self;
}

ViewResult ObjectAccess::resolve(const Handle& handle, std::chrono::nanoseconds at_most) {
  const NodeId home{handle.home};
  if (is_own(home)) return own_view(handle);
  if (auto view = kept_->find(handle)) return view;
  const std::uint64_t vouched = kept_->wants_voucher(home);
  const Clock::time_point asked_at = Clock::now();
  detail::CallHandle call = ask_for(handle, vouched, at_most);
  call.wait();
  ViewResult view = answered(handle, std::move(call), vouched, asked_at);
  if (view && paths_ != nullptr) paths_->add((*view)->path, (*view)->bytes.size(), asked_at);
  return view;
}

detail::CallHandle ObjectAccess::begin_resolve(const Handle& handle,
                                               std::chrono::nanoseconds at_most) {
  if (is_own(NodeId{handle.home}) || kept_->find(handle) != nullptr) return {};
  return ask_for(handle, 0, at_most);
}

ViewResult ObjectAccess::finish_resolve(const Handle& handle, detail::CallHandle call) {
  if (!call) return resolve(handle);
  return answered(handle, std::move(call), 0, {});
}

std::vector<ViewResult> ObjectAccess::resolve_together(std::span<const Handle> handles,
                                                       std::chrono::nanoseconds at_most) {
  struct Asked {
    std::shared_ptr<const View> kept;
    std::uint64_t vouched = 0;
    Clock::time_point at{};
    detail::CallHandle call{};
  };
  std::vector<Asked> all;
  for (const Handle& handle : handles) {
    Asked& asked = all.emplace_back(Asked{.kept = kept_->find(handle)});
    if (asked.kept != nullptr) continue;
    asked.vouched = kept_->wants_voucher(NodeId{handle.home});
    asked.at = Clock::now();
    asked.call = ask_for(handle, asked.vouched, at_most);
  }
  std::vector<ViewResult> views;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Asked& asked = all[i];
    asked.call.wait();
    views.push_back(asked.kept != nullptr
                        ? ViewResult(asked.kept)
                        : answered(handles[i], std::move(asked.call), asked.vouched, asked.at));
  }
  return views;
}

ViewResult ObjectAccess::own_view(const Handle& handle) {
  const Holder self{NodeId{handle.home}, host_.epoch()};
  GODWIT_TRY(const Located found, own_->locate(self, handle, Arena::Wait::yes));
  return std::make_shared<const View>(
      View{handle,
           found.version,
           {found.data, found.size},
           Path::pointer,
           std::make_shared<const PinKeeper>(*own_, self, found.pin)});
}

detail::CallHandle ObjectAccess::ask_for(const Handle& handle, std::uint64_t vouched,
                                         std::chrono::nanoseconds at_most) {
  const ObjectItem item{.handle = handle, .b = vouched};
  return start(asking(),
               {.home = NodeId{handle.home},
                .op = ObjectOp::locate,
                .items = {&item, 1},
                .argument = kSmall,
                .time_left = at_most,
                .flags = question_flags()},
               Ask::at_once);
}

// Of a call that has ended.
ViewResult ObjectAccess::answered(const Handle& handle, detail::CallHandle call,
                                  std::uint64_t vouched, Clock::time_point asked_at) {
  Result<AnsweredItem> answer = finish_one(std::move(call));
  if (!answer && answer.error().code == ErrorCode::would_block) {
    const ObjectItem item{.handle = handle, .b = vouched};
    answer =
        ask_one(asking(), NodeId{handle.home}, ObjectOp::locate, item, {}, kSmall, Ask::slowly);
  }
  if (!answer && channels_ != nullptr) {
    if (auto view = view_without_home(handle, answer.error())) return view;
  }
  if (!answer) return tl::unexpected(in_context(handle, answer.error()));
  const auto voucher = wire::take_voucher(answer->answer);
  GODWIT_TRY(auto view, view_of(handle, std::move(answer->call), answer->answer));
  kept_->keep(handle, view, voucher, asked_at);
  return view;
}

ViewResult ObjectAccess::await(const Handle& handle, std::uint64_t newer_than,
                               std::chrono::nanoseconds at_most) {
  const ObjectItem item{.handle = handle, .a = newer_than};
  auto answered = ask(asking(), {.home = NodeId{handle.home},
                                 .op = ObjectOp::wait,
                                 .items = {&item, 1},
                                 .argument = kSmall,
                                 .time_left = at_most,
                                 .flags = question_flags()});
  if (!answered) return tl::unexpected(in_context(handle, answered.error()));
  GODWIT_TRY(const wire::ObjectAnswerView answer, wire::parse_object_answer(answered->bytes));
  if (const Status good = check(answer); !good) {
    return tl::unexpected(in_context(handle, good.error()));
  }
  return view_of(handle, std::move(answered->call), answer);
}

// What the home's answer leads to; `call` holds the answer.
ViewResult ObjectAccess::view_of(const Handle& handle, detail::CallHandle call,
                                 const wire::ObjectAnswerView& answer) {
  const std::uint64_t size = answer.fixed.size;
  if ((answer.fixed.flags & ObjectAnswer::kInTail) != 0) {
    if (answer.tail.size() != size) {
      return fail(ErrorCode::protocol_violation, "the home sent {} of {} bytes", answer.tail.size(),
                  size);
    }
    return std::make_shared<const View>(
        View{handle, answer.fixed.version, answer.tail, Path::message,
             std::make_shared<const detail::CallHandle>(std::move(call))});
  }
  const bool elsewhere = (answer.fixed.flags & ObjectAnswer::kElsewhere) != 0;
  const std::string_view channel = elsewhere ? text_of(answer.tail) : std::string_view();
  if (elsewhere && answer.fixed.segment == 0) {
    return view_elsewhere(handle, answer.fixed, channel);
  }
  return view_in_memory(handle, answer.fixed, channel);
}

ViewResult ObjectAccess::view_in_memory(const Handle& handle, const ObjectAnswer& found,
                                        std::string_view channel) {
  const NodeId home{handle.home};
  auto segment = mappings_->get({home, found.segment, fabric::Access::read});
  if (!segment) {
    release(home, found.value, found.size);
    return tl::unexpected(in_context(handle, segment.error()));
  }
  if (*segment == nullptr) {
    std::string why;
    const bool quicker = !channel.empty() && readable(channel, found.size, why) != nullptr;
    return quicker ? view_elsewhere(handle, found, channel) : fetch(handle, found);
  }
  const SegmentMap::Mapped memory = *std::move(segment);
  auto keeps = std::make_shared<const Mapped>(memory, *this, home, found);
  if (!memory->holds(found.offset, found.size)) {
    return fail(ErrorCode::protocol_violation, "the object lies beyond the end of its segment");
  }
  const Bytes bytes{memory->data() + found.offset, found.size};
  return std::make_shared<const View>(
      View{handle, found.version, bytes, Path::mapping, std::move(keeps)});
}

// Copies an object piece by piece.
ViewResult ObjectAccess::fetch(const Handle& handle, const ObjectAnswer& found) {
  const RemotePin keeps(*this, NodeId{handle.home}, found);
  Buffer all = Buffer::allocate(found.size);
  if (all.data() == nullptr) {
    return fail(ErrorCode::out_of_memory, "no memory for the {} bytes of object {}", found.size,
                handle.object.short_hex());
  }
  std::byte* next = all.data();
  GODWIT_CHECK(read_pieces(handle, found.value, {0, found.size}, [&next](Bytes piece) -> Status {
    std::memcpy(next, piece.data(), piece.size());
    next += piece.size();
    return {};
  }));
  auto owner = std::make_shared<const Buffer>(std::move(all));
  const Bytes bytes = owner->view();
  return std::make_shared<const View>(
      View{handle, found.version, bytes, Path::stream, std::move(owner)});
}

// Several pieces are under way at a time, so that neither side waits for the other.
Status ObjectAccess::read_pieces(const Handle& handle, std::uint64_t pin, const ByteRange& range,
                                 const Take& take) {
  struct Piece {
    detail::CallHandle call;
    std::uint64_t size;
  };
  std::deque<Piece> under_way;
  std::uint64_t asked = range.first;
  std::uint64_t taken = range.first;
  while (taken < range.end) {
    while (asked < range.end && under_way.size() < kPiecesUnderWay) {
      const std::uint64_t size = std::min<std::uint64_t>(kPieceBytes, range.end - asked);
      const ObjectItem item{.handle = handle, .a = asked, .b = size, .d = 1};
      under_way.push_back({start(asking(),
                                 {.home = NodeId{handle.home},
                                  .op = ObjectOp::read,
                                  .items = {&item, 1},
                                  .argument = pin},
                                 Ask::slowly),
                           size});
      asked += size;
    }
    Piece piece = std::move(under_way.front());
    under_way.pop_front();
    piece.call.wait();
    GODWIT_TRY(const Bytes bytes, answer_of(piece.call));
    GODWIT_TRY(const wire::ObjectAnswerView answer, wire::parse_object_answer(bytes));
    GODWIT_CHECK(check(answer));
    if (answer.tail.size() != piece.size) {
      return fail(ErrorCode::protocol_violation, "the home sent {} of {} bytes", answer.tail.size(),
                  piece.size);
    }
    GODWIT_CHECK(take(answer.tail));
    taken += piece.size;
  }
  return {};
}

Status ObjectAccess::copy_out(const Handle& handle, const ByteRange& range, const Take& take) {
  const NodeId home{handle.home};
  const auto part_of = [&](std::uint64_t size) -> Result<ByteRange> {
    const std::uint64_t end = range.end == UINT64_MAX ? size : range.end;
    if (range.first <= end && end <= size) return ByteRange{range.first, end};
    return fail(ErrorCode::invalid_argument, "object {} has {} bytes: there are none from {} to {}",
                handle.object.short_hex(), size, range.first, end);
  };
  const auto give = [&](const View& view) -> Status {
    GODWIT_TRY(const ByteRange part, part_of(view.bytes.size()));
    for (std::uint64_t at = part.first; at < part.end; at += kPieceBytes) {
      GODWIT_CHECK(take(view.bytes.subspan(at, std::min(kPieceBytes, part.end - at))));
    }
    return {};
  };
  if (is_own(home)) {
    GODWIT_TRY(const auto view, resolve(handle));
    return give(*view);
  }
  const ObjectItem item{.handle = handle};
  auto answered = locate_one(asking(), {.home = home,
                                        .op = ObjectOp::locate,
                                        .items = {&item, 1},
                                        .argument = kSmall,
                                        .flags = question_flags()});
  if (!answered) {
    const auto view = channels_ != nullptr ? view_without_home(handle, answered.error()) : nullptr;
    if (view != nullptr) return give(*view);
    return tl::unexpected(in_context(handle, answered.error()));
  }
  const ObjectAnswer& found = answered->answer.fixed;
  if ((found.flags & ObjectAnswer::kElsewhere) != 0 && found.segment == 0) {
    GODWIT_TRY(const ByteRange part, part_of(found.size));
    return copy_elsewhere(handle, found, text_of(answered->answer.tail), part, take);
  }
  if ((found.flags & ObjectAnswer::kInTail) == 0) {
    const auto segment = mappings_->get({home, found.segment, fabric::Access::read});
    if (segment && *segment == nullptr) {
      const RemotePin keeps(*this, home, found);
      GODWIT_TRY(const ByteRange part, part_of(found.size));
      return read_pieces(handle, found.value, part, take);
    }
  }
  GODWIT_TRY(const auto view, view_of(handle, std::move(answered->call), answered->answer));
  return give(*view);
}

Result<Buffer> ObjectAccess::read(const Handle& handle, const detail::ObjectSelection& selection) {
  const ObjectItem item{.handle = handle,
                        .a = selection.offset,
                        .b = selection.bytes,
                        .c = selection.step,
                        .d = selection.pieces};
  const bool much = selection.bytes * selection.pieces > kSmall;
  auto answered = locate_one(asking(),
                             {.home = NodeId{handle.home},
                              .op = ObjectOp::read,
                              .items = {&item, 1},
                              .flags = question_flags()},
                             much ? Ask::slowly : Ask::at_once);
  if (!answered) return tl::unexpected(in_context(handle, answered.error()));
  if ((answered->answer.fixed.flags & ObjectAnswer::kElsewhere) != 0) {
    return read_elsewhere(handle, answered->answer.fixed, text_of(answered->answer.tail),
                          selection);
  }
  return Buffer::copy_of(answered->answer.tail);
}

}  // namespace godwit::ref
