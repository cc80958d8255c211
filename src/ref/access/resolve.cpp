// Reading objects, wherever their home is.
#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "call/caller.hpp"
#include "godwit/detail/turns.hpp"
#include "ref/access/access.hpp"
#include "ref/access/copied_view.hpp"
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

Result<AnsweredItem> locate_one(const Asking& asking, const Question& question,
                                Ask how = Ask::at_once) {
  GODWIT_TRY(Answered answered, ask(asking, question, how));
  return finish_one(std::move(answered.call));
}

}  // namespace

bool ObjectAccess::is_own(NodeId home) {
  return own_ != nullptr && home == host_.caller().engine().options().self;
}

Time ObjectAccess::until(std::chrono::nanoseconds at_most) {
  return at_most.count() == 0 ? Pieces::kNever : host_.caller().reactor().now() + at_most;
}

ViewResult ObjectAccess::resolve(const Handle& handle, std::chrono::nanoseconds at_most) {
  const NodeId home{handle.home};
  if (is_own(home)) return own_view(handle);
  if (auto view = kept_->find(handle)) return view;
  const Time ends = until(at_most);
  const Clock::time_point began = Clock::now();
  if (auto view = copy_shown(handle, at_most)) {
    if (paths_ != nullptr) paths_->add(view->path, view->bytes.size(), began);
    return view;
  }
  const Vouching vouching = kept_->vouching(home);
  detail::CallHandle call =
      ask_for(handle, vouching.wanted(), detail::time_left(at_most, began), true);
  call.wait();
  ViewResult view = answered(handle, std::move(call), vouching, {.until = ends});
  if (view && paths_ != nullptr) {
    paths_->add((*view)->path, (*view)->bytes.size(), vouching.asked_at);
  }
  return view;
}

bool ObjectAccess::is_at_hand(const Handle& handle) {
  return kept_->find(handle) != nullptr || kept_->shown(handle).has_value();
}

std::shared_ptr<const View> ObjectAccess::at_hand(const Handle& handle,
                                                  std::chrono::nanoseconds at_most) {
  if (auto view = kept_->find(handle)) return view;
  return copy_shown(handle, at_most);
}

std::shared_ptr<const View> ObjectAccess::copy_shown(const Handle& handle,
                                                     std::chrono::nanoseconds at_most) {
  const auto shown = kept_->shown(handle);
  if (!shown) return nullptr;
  const Whereabouts& place = shown->place;
  SegmentMap::Mapped mapped;
  const MappedSegment* memory =
      shown->reach->segment == place.segment ? shown->reach->memory.get() : nullptr;
  if (memory == nullptr) {
    const SegmentKey key{NodeId{handle.home}, place.segment, fabric::Access::read};
    const auto patience = at_most.count() == 0
                              ? std::chrono::nanoseconds(Mappings::kPatience)
                              : std::min<std::chrono::nanoseconds>(at_most, Mappings::kPatience);
    mapped = mappings_->get(key, patience).value_or(nullptr);
    memory = mapped.get();
    if (memory != nullptr) kept_->reached(*shown, mapped);
  }
  if (memory == nullptr || !memory->holds(place.offset, handle.size)) return nullptr;
  Buffer copy = Buffer::copy_of({memory->data() + place.offset, handle.size});
  // Otherwise the memory may have been another object's by then.
  if (copy.data() == nullptr || !shown->reach->currency->holds(place.ticket)) return nullptr;
  auto view = view_of_copy(handle, handle.version, std::move(copy), Path::copy);
  kept_->keep_if_again(view, *shown);
  return view;
}

detail::CallHandle ObjectAccess::begin_resolve(const Handle& handle,
                                               std::chrono::nanoseconds at_most) {
  if (is_own(NodeId{handle.home}) || is_at_hand(handle)) return {};
  return ask_for(handle, 0, at_most);
}

ViewResult ObjectAccess::finish_resolve(const Handle& handle, detail::CallHandle call) {
  if (!call) return resolve(handle);
  return answered(handle, std::move(call), {}, {});
}

std::vector<ViewResult> ObjectAccess::resolve_together(std::span<const Handle> handles,
                                                       std::chrono::nanoseconds at_most) {
  struct Asked {
    std::shared_ptr<const View> kept;
    Vouching vouching{};
    detail::CallHandle call{};
  };
  const Time ends = until(at_most);
  const Clock::time_point began = Clock::now();
  std::vector<Asked> all;
  for (const Handle& handle : handles) {
    Asked& asked =
        all.emplace_back(Asked{.kept = at_hand(handle, detail::time_left(at_most, began))});
    if (asked.kept != nullptr) continue;
    asked.vouching = kept_->vouching(NodeId{handle.home});
    asked.call = ask_for(handle, asked.vouching.wanted(), detail::time_left(at_most, began));
  }
  std::vector<ViewResult> views(all.size());
  std::vector<Fetch> later;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Asked& asked = all[i];
    asked.call.wait();
    views[i] = asked.kept != nullptr ? ViewResult(asked.kept)
                                     : answered(handles[i], std::move(asked.call), asked.vouching,
                                                {.until = ends, .later = &later, .index = i});
  }
  fetch_all(later, views, ends);
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
                                         std::chrono::nanoseconds at_most, bool stays) {
  const ObjectItem item{.handle = handle, .b = vouched};
  return start(asking(),
               {.home = NodeId{handle.home},
                .op = ObjectOp::locate,
                .items = {&item, 1},
                .argument = kSmall,
                .time_left = at_most,
                .flags = question_flags(),
                .stays = stays},
               Ask::at_once);
}

detail::CallHandle ObjectAccess::ask_to_wait(const Handle& handle, std::uint64_t newer_than,
                                             std::chrono::nanoseconds at_most, Ask how,
                                             bool stays) {
  const ObjectItem item{.handle = handle, .a = newer_than};
  return start(asking(),
               {.home = NodeId{handle.home},
                .op = ObjectOp::wait,
                .items = {&item, 1},
                .argument = kSmall,
                .time_left = at_most,
                .flags = question_flags(),
                .stays = stays},
               how);
}

// Of a call that has ended.
ViewResult ObjectAccess::answered(const Handle& handle, detail::CallHandle call,
                                  const Vouching& vouching, const Wish& wish) {
  Result<AnsweredItem> answer = finish_one(std::move(call));
  if (!answer && answer.error().code == ErrorCode::would_block) {
    const ObjectItem item{.handle = handle, .b = vouching.wanted()};
    answer =
        ask_one(asking(), NodeId{handle.home}, ObjectOp::locate, item, {}, kSmall, Ask::slowly);
  }
  if (!answer && channels_ != nullptr) {
    if (auto view = view_without_home(handle, answer.error())) return view;
  }
  if (!answer) return tl::unexpected(while_resolving(handle, answer.error()));
  const auto voucher = wire::take_voucher(answer->answer);
  GODWIT_TRY(auto view, view_of(handle, std::move(answer->call), answer->answer, wish));
  if (view != nullptr) kept_->keep(handle, view, voucher, vouching);
  return view;
}

detail::CallHandle ObjectAccess::begin_wait(const Handle& handle, std::uint64_t newer_than,
                                            std::chrono::nanoseconds at_most) {
  return ask_to_wait(handle, newer_than, at_most, Ask::at_once, false);
}

ViewResult ObjectAccess::finish_wait(const Handle& handle, std::uint64_t newer_than,
                                     detail::CallHandle call, std::chrono::nanoseconds at_most) {
  const Time ends = until(at_most);
  Result<AnsweredItem> answer = finish_one(std::move(call));
  // It is there, but on the home's disk, from where only a worker brings it.
  if (!answer && answer.error().code == ErrorCode::would_block) {
    call = ask_to_wait(handle, newer_than, at_most, Ask::slowly, true);
    call.wait();
    answer = finish_one(std::move(call));
  }
  if (!answer) return tl::unexpected(while_resolving(handle, answer.error()));
  return view_of(handle, std::move(answer->call), answer->answer, {.until = ends});
}

ViewResult ObjectAccess::await(const Handle& handle, std::uint64_t newer_than,
                               std::chrono::nanoseconds at_most) {
  const Clock::time_point asked_at = Clock::now();
  detail::CallHandle call = ask_to_wait(handle, newer_than, at_most, Ask::at_once, true);
  call.wait();
  return finish_wait(handle, newer_than, std::move(call), detail::time_left(at_most, asked_at));
}

// What the home's answer leads to; `call` holds the answer.
ViewResult ObjectAccess::view_of(const Handle& handle, detail::CallHandle call,
                                 const wire::ObjectAnswerView& answer, const Wish& wish) {
  const std::uint64_t size = answer.fixed.size;
  if ((answer.fixed.flags & ObjectAnswer::kInTail) != 0) {
    if (answer.tail.size() != size) {
      return fail(ErrorCode::protocol_violation, "the home sent {} of {} bytes", answer.tail.size(),
                  size);
    }
    struct InAnswer {
      detail::CallHandle call;
      View view;
    };
    auto both = std::make_shared<InAnswer>(
        InAnswer{std::move(call), {handle, answer.fixed.version, answer.tail, Path::message, {}}});
    const View* const view = &both->view;
    return std::shared_ptr<const View>(std::move(both), view);
  }
  const bool elsewhere = (answer.fixed.flags & ObjectAnswer::kElsewhere) != 0;
  const std::string_view channel = elsewhere ? text_of(answer.tail) : std::string_view();
  if (elsewhere && answer.fixed.segment == 0) {
    return view_elsewhere(handle, answer.fixed, channel, wish);
  }
  return view_in_memory(handle, answer.fixed, channel, wish);
}

ViewResult ObjectAccess::view_in_memory(const Handle& handle, const ObjectAnswer& found,
                                        std::string_view channel, const Wish& wish) {
  const NodeId home{handle.home};
  auto segment = mappings_->get({home, found.segment, fabric::Access::read});
  if (!segment) {
    release(home, found.value, found.size);
    return tl::unexpected(while_resolving(handle, segment.error()));
  }
  if (*segment == nullptr) {
    std::string why;
    const bool quicker = !channel.empty() && readable(channel, found.size, why) != nullptr;
    return quicker ? view_elsewhere(handle, found, channel, wish) : fetch(handle, found, wish);
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
  if (!answered) return tl::unexpected(while_resolving(handle, answered.error()));
  if ((answered->answer.fixed.flags & ObjectAnswer::kElsewhere) != 0) {
    return read_elsewhere(handle, answered->answer.fixed, text_of(answered->answer.tail),
                          selection);
  }
  return Buffer::copy_of(answered->answer.tail);
}

}  // namespace godwit::ref
