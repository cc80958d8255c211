// What is done to objects by their handles; put.cpp makes them, resolve.cpp reads them.
#include "ref/access/access.hpp"

#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "ref/access/holdings.hpp"
#include "ref/access/kept_views.hpp"
#include "ref/access/mappings.hpp"
#include "ref/access/measured_paths.hpp"
#include "ref/access/transfers.hpp"

namespace godwit::ref {

using wire::ObjectItem;
using wire::ObjectOp;

ObjectAccess::ObjectAccess(AccessHost& host, ObjectStore* own, std::shared_ptr<ChannelSet> channels)
    : host_(host),
      own_(own),
      holdings_(std::make_shared<Holdings>(Asking{host.caller(), host.epoch()})),
      mappings_(std::make_unique<Mappings>(host)),
      kept_(std::make_shared<KeptViews>(host)),
      transfers_(std::make_unique<Transfers>()),
      channels_(channels != nullptr && !channels->empty() ? std::move(channels) : nullptr),
      paths_(channels_ != nullptr ? std::make_unique<MeasuredPaths>() : nullptr) {}

ObjectAccess::~ObjectAccess() {
  close();
}

void ObjectAccess::close() {
  kept_->close();
  holdings_->close();
}

void ObjectAccess::drop_views(std::span<const Handle> handles) {
  for (const Handle& handle : handles) kept_->drop(handle);
}

void ObjectAccess::forget(NodeId home) {
  kept_->forget(home);
}

void ObjectAccess::lost(NodeId home) {
  holdings_->lost(home);
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

void ObjectAccess::release(NodeId home, std::uint64_t pin, std::uint64_t bytes) {
  holdings_->release(home, pin, bytes);
}

Result<SegmentMap::Mapped> ObjectAccess::segment(NodeId home, std::uint64_t number) {
  return mappings_->get({home, number, fabric::Access::read});
}

// Asks for a segment that no home has: one that could share it says that there is none.
Result<bool> ObjectAccess::can_map(NodeId home) {
  const auto nothing = segment(home, 0);
  if (!nothing && nothing.error().code == ErrorCode::not_found) return true;
  if (!nothing) return tl::unexpected(nothing.error());
  return false;
}

Result<AnsweredItem> ObjectAccess::tell(ObjectOp op, const ObjectItem& item,
                                        std::span<const Bytes> tail) {
  return ask_one(asking(), NodeId{item.handle.home}, op, item, tail);
}

std::vector<Result<std::uint64_t>> ObjectAccess::tell_all(ObjectOp op,
                                                          std::span<const Handle> handles) {
  std::vector<Result<std::uint64_t>> results(handles.size());
  for (const HomeGroup& group : by_home(handles, wire::kMaxObjectItems)) {
    const auto all = ask_all(asking(), {.home = group.home, .op = op, .items = group.items},
                             group.items.size() > 1 ? Ask::slowly : Ask::at_once);
    for (std::size_t i = 0; i < group.which.size(); ++i) {
      const auto answer = answer_to(all, i);
      results[group.which[i]] = answer ? Result<std::uint64_t>(answer->fixed.value)
                                       : Result<std::uint64_t>(tl::unexpected(answer.error()));
    }
  }
  return results;
}

Result<Handle> ObjectAccess::newest(const Handle& handle) {
  // That of a promise does not say how large it has become.
  const bool is_whole = handle.size != Handle::kSizeUnknown;
  if (is_whole && is_at_hand(handle)) return handle;
  GODWIT_TRY(const AnsweredItem answered, tell(ObjectOp::newest, {.handle = handle}));
  return wire::handle_in(answered.answer);
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
