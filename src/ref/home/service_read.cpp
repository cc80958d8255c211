// How a home answers those who read.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "base/fail.hpp"
#include "ref/disk/checksum.hpp"
#include "ref/home/answers.hpp"
#include "ref/home/elsewhere.hpp"
#include "ref/home/pin_keeper.hpp"
#include "ref/home/request.hpp"

namespace godwit::ref {

using wire::ObjectAnswer;
using wire::ObjectItem;

void append_vouched(Bytes bytes, const Voucher& voucher, Answers& answers) {
  if (voucher.ticket == 0) return answers.append(bytes);
  const wire::VoucherTerms terms{
      .ticket = voucher.ticket,
      .time_left_ns =
          voucher.time_left ? std::max<std::int64_t>(voucher.time_left->count(), 0) : -1};
  const std::span<std::byte> room = answers.append_room(bytes.size() + sizeof terms);
  if (!bytes.empty()) std::memcpy(room.data(), bytes.data(), bytes.size());
  std::memcpy(room.data() + bytes.size(), &terms, sizeof terms);
  answers.last().flags |= ObjectAnswer::kVouched;
}

Status ObjectService::do_locate(const Request& request, const ObjectItem& item, Answers& answers) {
  GODWIT_TRY(const Located found,
             store_.locate(request.holder, item.handle, request.wait, from_of(request.head)));
  ObjectAnswer& answer = answers.last();
  answer.version = found.version;
  answer.size = found.size;
  answer.type = found.type;
  if (tell_elsewhere(found, answers)) return {};
  const Voucher voucher = item.b != 0 ? store_.vouch_for(item.handle) : Voucher{};
  const std::size_t most = request.asker.may_wait ? kMaxInAnswer : kMaxAtOnce;
  if (found.size <= std::min<std::uint64_t>(request.head.argument, most) &&
      found.size <= kMaxTogether - std::min(kMaxTogether, answers.tail_bytes())) {
    const PinKeeper keeper(store_, request.holder, found.pin);
    answer.flags |= ObjectAnswer::kInTail;
    append_vouched({found.data, found.size}, voucher, answers);
    return {};
  }
  answer.value = found.pin;
  answer.segment = found.segment;
  answer.offset = found.offset;
  if (found.channel != 0 && from_of(request.head) == ObjectStore::From::anywhere) {
    answer.flags = ObjectAnswer::kElsewhere;
    answers.append(bytes_of(store_.channels()->name_of(found.channel)));
  } else {
    append_vouched({}, voucher, answers);
  }
  return {};
}

// Pieces of an object: as they lie there if it is one large piece, put together otherwise.
Status ObjectService::do_read(const Request& request, const ObjectItem& item, Answers& answers) {
  GODWIT_TRY(const Located found,
             request.head.argument != 0
                 ? store_.locate_again(request.holder, item.handle, request.head.argument)
                 : store_.locate(request.holder, item.handle, request.wait, from_of(request.head)));
  if (found.is_elsewhere() && request.head.argument == 0) {
    answers.last().version = found.version;
    answers.last().size = found.size;
    answers.last().type = found.type;
    if (tell_elsewhere(found, answers)) return {};
  }
  PinKeeper keeper(store_, request.holder, found.pin);
  const auto [first, piece, step, pieces] = std::array{item.a, item.b, item.c, item.d};
  const std::uint64_t last = pieces == 0 ? 0 : pieces - 1;
  if (found.is_elsewhere()) {
    return fail(ErrorCode::would_block, "object {} is not in memory: fetch it first",
                item.handle.object.short_hex());
  }
  const bool fits = pieces == 0 || piece == 0 ||
                    (piece <= found.size && first <= found.size - piece &&
                     (last == 0 || step <= (found.size - piece - first) / last));
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "object {} has {} bytes: {} pieces of {} bytes, {} apart, from byte {} on reach "
                "beyond its end",
                item.handle.object.short_hex(), found.size, pieces, piece, step, first);
  }
  // Otherwise a small object could be asked for a large answer.
  if (pieces > 1 && step < piece) {
    return fail(ErrorCode::invalid_argument, "pieces of {} bytes that begin {} apart overlap",
                piece, step);
  }
  const std::uint64_t wanted = piece * pieces;  // at most found.size
  if (!request.asker.may_wait && wanted > kMaxAtOnce) {
    return fail(ErrorCode::would_block, "{} bytes take a worker to read", wanted);
  }
  if (request.head.count > 1 &&
      wanted > kMaxTogether - std::min(kMaxTogether, answers.tail_bytes())) {
    return fail(ErrorCode::too_large, "more than {} bytes are asked for at once", kMaxTogether);
  }
  answers.last().version = found.version;
  answers.last().size = found.size;
  answers.last().type = found.type;
  const bool wants_checksum = (request.head.flags & wire::ObjectRequest::kChecksum) != 0;
  if (wants_checksum) answers.last().flags |= ObjectAnswer::kChecksum;
  if (pieces == 1 && piece > kMaxAtOnce && request.head.count == 1) {
    if (wants_checksum) {
      answers.last().value = checksums_.of({item.handle.object, found.version, first, piece},
                                           {found.data + first, piece});
    }
    answers.lend({found.data + first, piece});
    answers.keep(std::make_shared<PinKeeper>(std::move(keeper)));
    return {};
  }
  std::byte* to = answers.append_room(wanted).data();
  for (std::uint64_t i = 0; i < pieces && piece > 0; ++i) {
    std::memcpy(to + i * piece, found.data + first + i * step, piece);
  }
  if (wants_checksum) answers.last().value = Checksum::of({to, wanted});
  return {};
}

}  // namespace godwit::ref
