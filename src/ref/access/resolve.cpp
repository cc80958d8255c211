// Reading objects, wherever their home is.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "call/caller.hpp"
#include "ref/access/access.hpp"
#include "ref/access/fetch.hpp"
#include "ref/access/holdings.hpp"
#include "ref/access/mappings.hpp"
#include "ref/home/pin_keeper.hpp"

namespace godwit::ref {
namespace {

using wire::ObjectAnswer;
using wire::ObjectItem;
using wire::ObjectOp;

using ViewResult = Result<std::shared_ptr<const View>>;

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

}  // namespace

bool ObjectAccess::is_own(NodeId home) {
  return own_ != nullptr && home == host_.caller().engine().options().self;
}

ViewResult ObjectAccess::resolve(const Handle& handle, std::chrono::nanoseconds at_most) {
  detail::CallHandle call = begin_resolve(handle, at_most);
  call.wait();
  return finish_resolve(handle, std::move(call));
}

detail::CallHandle ObjectAccess::begin_resolve(const Handle& handle,
                                               std::chrono::nanoseconds at_most) {
  const NodeId home{handle.home};
  if (is_own(home)) return {};
  const ObjectItem item{.handle = handle};
  return start(asking(),
               {.home = home,
                .op = ObjectOp::locate,
                .items = {&item, 1},
                .argument = kSmall,
                .time_left = at_most},
               Ask::at_once);
}

ViewResult ObjectAccess::finish_resolve(const Handle& handle, detail::CallHandle call) {
  const NodeId home{handle.home};
  if (is_own(home)) {
    const Holder self{home, host_.epoch()};
    GODWIT_TRY(const Located found, own_->locate(self, handle, Arena::Wait::yes));
    return std::make_shared<const View>(
        View{handle,
             found.version,
             {found.data, found.size},
             Path::pointer,
             std::make_shared<const PinKeeper>(*own_, self, found.pin)});
  }
  GODWIT_TRY(Coming coming, take_answer(handle, std::move(call)));
  return coming.finish();
}

// Of a call that has ended.
Result<ObjectAccess::Coming> ObjectAccess::take_answer(const Handle& handle,
                                                       detail::CallHandle call) {
  Result<AnsweredItem> answered = finish_one(std::move(call));
  if (!answered && answered.error().code == ErrorCode::would_block) {
    const ObjectItem item{.handle = handle};
    answered =
        ask_one(asking(), NodeId{handle.home}, ObjectOp::locate, item, {}, kSmall, Ask::slowly);
  }
  if (!answered) return tl::unexpected(in_context(handle, answered.error()));
  return begin_view(handle, std::move(answered->call), answered->answer);
}

std::vector<ViewResult> ObjectAccess::resolve_together(std::span<const Handle> handles,
                                                       std::chrono::nanoseconds at_most) {
  std::vector<detail::CallHandle> calls;
  for (const Handle& handle : handles) calls.push_back(begin_resolve(handle, at_most));
  std::vector<Result<Coming>> coming;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    calls[i].wait();
    coming.push_back(take_answer(handles[i], std::move(calls[i])));
  }
  std::vector<ViewResult> views;
  for (Result<Coming>& one : coming) {
    views.push_back(one ? one->finish() : tl::unexpected(std::move(one).error()));
  }
  return views;
}

ViewResult ObjectAccess::await(const Handle& handle, std::uint64_t newer_than,
                               std::chrono::nanoseconds at_most) {
  const ObjectItem item{.handle = handle, .a = newer_than};
  auto answered = ask(asking(), {.home = NodeId{handle.home},
                                 .op = ObjectOp::wait,
                                 .items = {&item, 1},
                                 .argument = kSmall,
                                 .time_left = at_most});
  if (!answered) return tl::unexpected(in_context(handle, answered.error()));
  GODWIT_TRY(const wire::ObjectAnswerView answer, wire::parse_object_answer(answered->bytes));
  if (const Status good = check(answer); !good) {
    return tl::unexpected(in_context(handle, good.error()));
  }
  return view_of(handle, std::move(answered->call), answer);
}

ViewResult ObjectAccess::view_of(const Handle& handle, detail::CallHandle call,
                                 const wire::ObjectAnswerView& answer) {
  GODWIT_TRY(Coming coming, begin_view(handle, std::move(call), answer));
  return coming.finish();
}

// What the home's answer leads to; `call` holds the answer.
Result<ObjectAccess::Coming> ObjectAccess::begin_view(const Handle& handle, detail::CallHandle call,
                                                      const wire::ObjectAnswerView& answer) {
  const std::uint64_t size = answer.fixed.size;
  if ((answer.fixed.flags & ObjectAnswer::kInTail) != 0) {
    if (answer.tail.size() != size) {
      return fail(ErrorCode::protocol_violation, "the home sent {} of {} bytes", answer.tail.size(),
                  size);
    }
    return Coming(std::make_shared<const View>(
        View{handle, answer.fixed.version, answer.tail, Path::message,
             std::make_shared<const detail::CallHandle>(std::move(call))}));
  }
  const NodeId home{handle.home};
  auto segment = mappings_->get({home, answer.fixed.segment, fabric::Access::read});
  if (!segment) {
    release(home, answer.fixed.value, size);
    return tl::unexpected(in_context(handle, segment.error()));
  }
  if (*segment == nullptr) return Fetch::begin(*this, handle, answer.fixed);
  const SegmentMap::Mapped memory = *std::move(segment);
  auto keeps = std::make_shared<const Mapped>(memory, *this, home, answer.fixed);
  if (!memory->holds(answer.fixed.offset, size)) {
    return fail(ErrorCode::protocol_violation, "the object lies beyond the end of its segment");
  }
  const Bytes bytes{memory->data() + answer.fixed.offset, size};
  return Coming(std::make_shared<const View>(
      View{handle, answer.fixed.version, bytes, Path::mapping, std::move(keeps)}));
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
  auto answered = ask_one(asking(), home, ObjectOp::locate, item, {}, kSmall);
  if (!answered) return tl::unexpected(in_context(handle, answered.error()));
  const ObjectAnswer& found = answered->answer.fixed;
  if ((found.flags & ObjectAnswer::kInTail) == 0) {
    const auto segment = mappings_->get({home, found.segment, fabric::Access::read});
    if (segment && *segment == nullptr) {
      const RemotePin keeps(*this, home, found);
      GODWIT_TRY(const ByteRange part, part_of(found.size));
      return Pieces(*this, handle, found.value, part).take_all(take);
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
  auto answered = ask_one(asking(), NodeId{handle.home}, ObjectOp::read, item, {}, 0,
                          much ? Ask::slowly : Ask::at_once);
  if (!answered) return tl::unexpected(in_context(handle, answered.error()));
  return Buffer::copy_of(answered->answer.tail);
}

// One message for all objects of a home.
std::vector<ViewResult> ObjectAccess::resolve_batch(std::span<const Handle> handles) {
  constexpr std::size_t kPerMessage = 1000;
  std::vector<ViewResult> views(handles.size());
  for (const HomeGroup& group : by_home(handles, kPerMessage)) {
    auto all = ask_all(
        asking(),
        {.home = group.home, .op = ObjectOp::locate, .items = group.items, .argument = kSmall},
        Ask::slowly);
    std::shared_ptr<const detail::CallHandle> reply;
    if (all) reply = std::make_shared<const detail::CallHandle>(std::move(all->call));
    for (std::size_t i = 0; i < group.which.size(); ++i) {
      const Handle& handle = handles[group.which[i]];
      ViewResult& view = views[group.which[i]];
      const auto answer = answer_to(all, i);
      if (!answer) {
        view = tl::unexpected(in_context(handle, answer.error()));
      } else if ((answer->fixed.flags & ObjectAnswer::kInTail) != 0) {
        view = std::make_shared<const View>(
            View{handle, answer->fixed.version, answer->tail, Path::message, reply});
      } else {
        view = view_of(handle, {}, *answer);
      }
    }
  }
  return views;
}

}  // namespace godwit::ref
