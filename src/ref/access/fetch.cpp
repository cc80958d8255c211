// Copying objects from homes whose memory cannot be mapped.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/fail.hpp"
#include "call/caller.hpp"
#include "ref/access/access.hpp"
#include "ref/access/home_pieces.hpp"
#include "ref/access/mappings.hpp"
#include "ref/access/transfers.hpp"
#include "ref/disk/checksum.hpp"

namespace godwit::ref {

using wire::ObjectAnswer;
using wire::ObjectItem;
using wire::ObjectOp;

using ViewResult = Result<std::shared_ptr<const View>>;

ViewResult ObjectAccess::fetch(const Handle& handle, const ObjectAnswer& found, const Wish& wish) {
  Fetch one{handle, found, wish.index};
  if (wish.later != nullptr) {
    wish.later->push_back(one);
    return ViewResult(nullptr);
  }
  ViewResult view;
  one.index = 0;
  fetch_all({&one, 1}, {&view, 1}, wish.until);
  return view;
}

void ObjectAccess::fetch_all(std::span<const Fetch> wanted, std::span<ViewResult> views,
                             Time until) {
  std::vector<Transfers::Wanted> all;
  std::vector<const Fetch*> which;
  for (const Fetch& fetch : wanted) {
    const Transfers::Key key{NodeId{fetch.handle.home}, fetch.handle.object, fetch.found.version};
    auto joined = transfers_->join(
        {.key = key,
         .size = fetch.found.size,
         .patience = host_.caller().options().default_deadline,
         .source = std::make_unique<HomePieces>(*this, fetch.handle, fetch.found)});
    if (!joined) {
      views[fetch.index] = tl::unexpected(while_resolving(fetch.handle, joined.error()));
      continue;
    }
    all.push_back(*std::move(joined));
    which.push_back(&fetch);
  }
  transfers_->finish(all, until);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Fetch& fetch = *which[i];
    ViewResult& view = views[fetch.index];
    if (!all[i].bytes) {
      view = tl::unexpected(while_resolving(fetch.handle, all[i].bytes.error()));
      continue;
    }
    const auto& owner = *all[i].bytes;
    view = std::make_shared<const View>(
        View{fetch.handle, fetch.found.version, owner->view(), Path::stream, owner});
  }
}

Status ObjectAccess::read_pieces(PieceSource& source, const ByteRange& range, const Take& take) {
  Pieces pieces(source, range, host_.caller().options().default_deadline,
                [&take](std::uint64_t, const ArrivedPiece& piece) -> Result<bool> {
                  if (Checksum::of(piece.bytes) != piece.checksum) return false;
                  GODWIT_CHECK(take(piece.bytes));
                  return true;
                });
  return pieces.finish(Pieces::kNever);
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
  auto asked = ask(asking(), {.home = home,
                              .op = ObjectOp::locate,
                              .items = {&item, 1},
                              .argument = kSmall,
                              .flags = question_flags()});
  auto answered = asked ? finish_one(std::move(asked->call))
                        : Result<AnsweredItem>(tl::unexpected(asked.error()));
  if (!answered) {
    const auto view = channels_ != nullptr ? view_without_home(handle, answered.error()) : nullptr;
    if (view != nullptr) return give(*view);
    return tl::unexpected(while_resolving(handle, answered.error()));
  }
  const ObjectAnswer& found = answered->answer.fixed;
  if ((found.flags & ObjectAnswer::kElsewhere) != 0 && found.segment == 0) {
    GODWIT_TRY(const ByteRange part, part_of(found.size));
    return copy_elsewhere(handle, found, text_of(answered->answer.tail), part, take);
  }
  if ((found.flags & ObjectAnswer::kInTail) == 0) {
    const auto segment = mappings_->get({home, found.segment, fabric::Access::read});
    if (segment && *segment == nullptr) {
      HomePieces source(*this, handle, found);
      GODWIT_TRY(const ByteRange part, part_of(found.size));
      return read_pieces(source, part, take);
    }
  }
  GODWIT_TRY(const auto view, view_of(handle, std::move(answered->call), answered->answer, {}));
  return give(*view);
}

}  // namespace godwit::ref
