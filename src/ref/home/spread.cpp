#include "ref/home/spread.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>

#include "base/fail.hpp"
#include "call/caller.hpp"
#include "ref/access/access.hpp"
#include "ref/home/answers.hpp"
#include "ref/home/request.hpp"
#include "ref/home/service.hpp"

namespace godwit::ref {
namespace {

using wire::ObjectItem;
using wire::SpreadFacts;

SpreadFacts failed(std::uint64_t node, std::uint64_t parent, const Error& why) {
  SpreadFacts facts;
  facts.node = node;
  facts.parent = parent;
  facts.set_error(static_cast<std::uint32_t>(why.code), why.message);
  return facts;
}

// What a child answered for itself and those below it. Errors: what became of it.
Result<std::vector<SpreadFacts>> facts_in(const detail::CallHandle& call, std::size_t nodes) {
  GODWIT_TRY(const Bytes bytes, answer_of(call));
  GODWIT_TRY(const wire::ObjectAnswerView answer, wire::parse_object_answer(bytes));
  GODWIT_CHECK(check(answer));
  GODWIT_TRY(std::vector<SpreadFacts> facts, wire::parse_spread_facts(answer.tail));
  if (facts.size() == nodes) return facts;
  return fail(ErrorCode::protocol_violation, "it answered for {} nodes, and was asked for {}",
              facts.size(), nodes);
}

}  // namespace

std::vector<Branch> branches_of(std::span<const std::uint64_t> nodes, std::size_t fan_out) {
  std::vector<Branch> branches;
  for (std::size_t left = std::min(fan_out, nodes.size()); left > 0; --left) {
    const std::size_t size = (nodes.size() + left - 1) / left;
    branches.push_back({nodes.front(), nodes.subspan(1, size - 1)});
    nodes = nodes.subspan(size);
  }
  return branches;
}

// What this node has to do for those below it.
struct ObjectService::Spread {
  Handle original;
  Handle source;  // of this node's own: the original, or its copy
  Duration keep;
  std::uint64_t fan_out;
  Time until;

  [[nodiscard]] detail::CallHandle ask(ObjectAccess& access, const Branch& branch, Time now) const {
    const std::array<ObjectItem, 2> items{
        ObjectItem{.handle = original, .a = static_cast<std::uint64_t>(keep.count()), .b = fan_out},
        ObjectItem{.handle = source}};
    // Each level leaves some time to the one above it, to do for a child what that did not.
    const Duration time = (until - now) / 10 * 9;
    const Bytes below = std::as_bytes(branch.below);
    return start(access.asking(),
                 {.home = NodeId{branch.node},
                  .op = wire::ObjectOp::spread,
                  .items = items,
                  .tail = {&below, 1},
                  .argument = static_cast<std::uint64_t>(time.count()),
                  .time_left = time},
                 Ask::slowly);
  }
};

// The answer: this node, unless it is the home, and those below it.
Status ObjectService::do_spread(const Request& request, const wire::ObjectRequestView& view,
                                Answers& answers) {
  if (!request.asker.may_wait) return fail(ErrorCode::would_block, "spreading takes its time");
  constexpr std::uint64_t kMostTime = std::chrono::nanoseconds(std::chrono::hours(24)).count();
  if (view.items.size() != 2 || view.tail.size() % sizeof(std::uint64_t) != 0 ||
      view.tail.size() / sizeof(std::uint64_t) > wire::kMaxSpreadNodes || view.items[0].b == 0 ||
      static_cast<std::int64_t>(view.items[0].a) <= 0 || view.items[0].b > wire::kMaxFanOut) {
    return fail(ErrorCode::bad_format, "a request to spread an object makes no sense");
  }
  std::vector<std::uint64_t> below(view.tail.size() / sizeof(std::uint64_t));
  if (!below.empty()) std::memcpy(below.data(), view.tail.data(), view.tail.size());
  if (!enter()) return fail(ErrorCode::shutting_down, "this process is shutting down");
  const Entered entered(*this);
  call::Engine& engine = access_->asking().caller.engine();
  if (!engine.executor()->begin_blocking()) {
    return fail(ErrorCode::overload, "too many functions wait on this node already");
  }
  const Time began = engine.scheduler().now();
  Spread spread{
      .original = view.items[0].handle,
      .source = view.items[0].handle,
      .keep = Duration(static_cast<std::int64_t>(view.items[0].a)),
      .fan_out = view.items[0].b,
      .until =
          began + Duration(static_cast<std::int64_t>(std::min(view.head.argument, kMostTime)))};
  std::vector<SpreadFacts> facts;
  const Status done = [&]() -> Status {
    if (is_own(spread.original)) {
      GODWIT_CHECK(check_spread(spread.original));
    } else {
      GODWIT_TRY(spread.source, copy_here(spread, view.items[1].handle));
      SpreadFacts mine;
      mine.node = options_.self.node.value;
      mine.parent = view.items[1].handle.home;
      mine.bytes = spread.original.size;
      mine.took_ns = (engine.scheduler().now() - began).count();
      mine.copy = spread.source;
      facts.push_back(mine);
    }
    spread_below(spread, below, facts);
    return {};
  }();
  engine.executor()->end_blocking();
  GODWIT_CHECK(done);
  answers.clear();  // a thread that waits answers others meanwhile
  answers.add();
  answers.append(std::as_bytes(std::span(facts)));
  return {};
}

// The home answers for the handle: nobody else could tell that it is genuine.
Status ObjectService::check_spread(const Handle& handle) {
  GODWIT_TRY(const ObjectDescription object, store_.describe(handle));
  if (!includes(handle.rights, Rights::read)) {
    return fail(ErrorCode::permission, "the handle of object {} does not allow to read it",
                handle.object.short_hex());
  }
  if (object.pending || object.broken || handle.size == Handle::kSizeUnknown) {
    return fail(ErrorCode::invalid_argument,
                "object {} was only promised when this handle was made: wait for it, and spread "
                "the handle of what has come",
                handle.object.short_hex());
  }
  if (store_.exists(handle)) return {};
  return fail(ErrorCode::stale, "version {} of object {} is gone: the newest is {}", handle.version,
              handle.object.short_hex(), object.handle.version);
}

// An object of this node's own, which stands for the original from here on. Straight into the
// memory where it stays.
Result<Handle> ObjectService::copy_here(const Spread& spread, const Handle& source) {
  const Lifetime lifetime{.kind = LifetimeKind::lease, .lease = spread.keep};
  if (const auto kept = copies_.find(spread.original)) {
    if (store_.set_lifetime(*kept, lifetime, options_.self)) return *kept;
  }
  GODWIT_TRY(const Reservation room,
             store_.reserve(options_.self, spread.original.size, Arena::Wait::yes));
  std::uint64_t done = 0;
  const auto keep = [&](Bytes piece) {
    const Status kept = store_.write(options_.self, room.ticket, done, piece);
    done += piece.size();
    return kept;
  };
  auto made = [&]() -> Result<Handle> {
    GODWIT_CHECK(access_->copy_out(source, {}, keep));
    if (done != spread.original.size) {
      return fail(ErrorCode::protocol_violation, "object {} has {} bytes, and {} came",
                  spread.original.object.short_hex(), spread.original.size, done);
    }
    return store_.commit(options_.self, room.ticket,
                         {.type = spread.original.type, .lifetime = lifetime});
  }();
  if (!made) {
    store_.abandon(options_.self, room.ticket);
    return made;
  }
  options_.on_use();
  if (!copies_.add(spread.original, *made)) {
    copies_.forget_if([&](const Handle& copy) { return !store_.exists(copy); });
    if (!copies_.add(spread.original, *made)) {
      static_cast<void>(store_.evict(*made));
      return fail(ErrorCode::resource_exhausted, "this node keeps {} copies already, the limit",
                  Copies::kMax);
    }
  }
  return made;
}

// A child that fails says nothing of those below it: they become children of this node. Ends by
// the time that there is; each of the nodes is reported on.
void ObjectService::spread_below(const Spread& spread, std::span<const std::uint64_t> nodes,
                                 std::vector<SpreadFacts>& facts) {
  struct UnderWay {
    Branch branch;
    detail::CallHandle call;
  };
  const std::uint64_t self = options_.self.node.value;
  const Clock& clock = access_->asking().caller.engine().scheduler();
  std::deque<UnderWay> under_way;
  const auto begin = [&](std::span<const std::uint64_t> some) {
    const Time now = clock.now();
    for (const Branch& branch : branches_of(some, spread.fan_out)) {
      under_way.push_back({branch, spread.ask(*access_, branch, now)});
    }
  };
  begin(nodes);
  while (!under_way.empty()) {
    UnderWay next = std::move(under_way.front());
    under_way.pop_front();
    next.call.wait();
    auto told = facts_in(next.call, 1 + next.branch.below.size());
    if (told) {
      facts.insert(facts.end(), told->begin(), told->end());
      continue;
    }
    facts.push_back(failed(next.branch.node, self, told.error()));
    const bool late = clock.now() >= spread.until;
    if (!late && store_.exists(spread.source)) {
      begin(next.branch.below);
      continue;
    }
    const Error why{late ? ErrorCode::deadline : told.error().code,
                    late ? "there was no time left for it" : told.error().message};
    for (const std::uint64_t node : next.branch.below) facts.push_back(failed(node, self, why));
  }
}

// What this node keeps a copy of. Nothing: it does not, or that is not in memory, or gone.
Result<std::optional<call::Objects::Found>> ObjectService::find_copy(const Handle& original,
                                                                     Arena::Wait wait) {
  const auto copy = copies_.find(original);
  if (!copy) return std::optional<Found>();
  auto found = locate(*copy, wait);
  if (found) return std::optional<Found>(*std::move(found));
  if (found.error().code == ErrorCode::not_found) copies_.forget(original, *copy);
  return std::optional<Found>();
}

}  // namespace godwit::ref
