// What is asked of objects whose bytes are in a channel.
#include "base/fail.hpp"
#include "call/context.hpp"
#include "ref/home/answers.hpp"
#include "ref/home/elsewhere.hpp"
#include "ref/home/request.hpp"

namespace godwit::ref {

using wire::ObjectAnswer;
using wire::ObjectItem;

Result<std::uint16_t> ObjectService::channel_named(Bytes name) const {
  const HomeChannels* const channels = store_.channels();
  const std::uint16_t number = channels != nullptr ? channels->number_of(text_of(name)) : 0;
  if (number != 0) return number;
  return fail(ErrorCode::unsupported,
              "node {} has no channel called '{}', and could not remove what would be put there; "
              "it has {}; add it to the node's settings (channel)",
              to_hex(options_.self.node.value), text_of(name),
              channels != nullptr ? channels->known() : "memory");
}

Status ObjectService::do_reserve_elsewhere(const Request& request, const ObjectItem& item,
                                           Bytes name, Answers& answers) {
  std::uint16_t channel = 0;
  const bool next = item.a != 0;
  if (!next || !name.empty()) {
    GODWIT_TRY(channel, channel_named(name));
  }
  GODWIT_TRY(const ElsewhereReservation made,
             store_.reserve_elsewhere(request.holder, item.c, channel,
                                      next ? &item.handle : nullptr, request.wait));
  ObjectAnswer& answer = answers.last();
  answer.value = made.room.ticket;
  answer.size = made.room.size;
  if (made.channel == 0) {
    answer.segment = made.room.segment;
    answer.offset = made.room.offset;
    return {};
  }
  answer.flags = ObjectAnswer::kElsewhere;
  answer.version = made.version;
  answers.append(std::as_bytes(std::span(made.object.bytes)),
                 bytes_of(store_.channels()->name_of(made.channel)));
  return {};
}

bool ObjectService::tell_elsewhere(const Located& found, Answers& answers) {
  if (!found.is_elsewhere()) return false;
  ObjectAnswer& answer = answers.last();
  answer.flags = ObjectAnswer::kElsewhere;
  answer.value = found.pin;
  answers.append(bytes_of(store_.channels()->name_of(found.channel)));
  return true;
}

Status ObjectService::do_fetch(const Request& request, const ObjectItem& item, Answers& answers) {
  if (request.wait == Arena::Wait::no) {
    return fail(ErrorCode::would_block, "it takes a worker to fetch from a channel");
  }
  GODWIT_TRY(const Located found, store_.fetch(request.holder, item.handle, item.a));
  ObjectAnswer& answer = answers.last();
  answer.version = found.version;
  answer.size = found.size;
  answer.type = found.type;
  answer.value = found.pin;
  answer.segment = found.segment;
  answer.offset = found.offset;
  return {};
}

}  // namespace godwit::ref
