#include "ref/access/question.hpp"

#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "call/caller.hpp"
#include "godwit/codec.hpp"

namespace godwit::ref {

using detail::CallHandle;

CallHandle start(const Asking& asking, const Question& question, Ask how) {
  const wire::ObjectRequest request{.op = question.op,
                                    .flags = question.flags,
                                    .count = static_cast<std::uint32_t>(question.items.size()),
                                    .argument = question.argument,
                                    .epoch = asking.epoch.value};
  return send(asking,
              {.home = question.home,
               .head = bytes_of_value(request),
               .items = std::as_bytes(question.items),
               .tail = question.tail,
               .time_left = question.time_left,
               .stays = question.stays},
              how);
}

CallHandle send(const Asking& asking, const Message& message, Ask how) {
  CallHandle call = CallHandle::prepare(asking.caller);
  if (!call) return call;
  if (message.stays) call.stay();
  std::size_t head = sizeof(Descriptor) + message.head.size() + message.items.size();
  std::span<std::byte> room = head <= CallHandle::kSmallBytes ? call.small() : call.large(head);
  if (room.size() < head) return {};
  std::size_t tail = 0;
  for (const Bytes part : message.tail) tail += part.size();
  const Descriptor where{.offset = kBlobAlign, .count = head - sizeof(Descriptor) + tail};
  std::memcpy(room.data(), &where, sizeof where);
  std::memcpy(room.data() + sizeof where, message.head.data(), message.head.size());
  if (!message.items.empty()) {
    std::memcpy(room.data() + sizeof where + message.head.size(), message.items.data(),
                message.items.size());
  }
  const auto time_left =
      message.time_left.count() != 0 ? message.time_left : asking.caller.options().default_deadline;
  call::FunctionRef& target = function(how, asking.caller);
  if (tail > 0 && head + tail <= CallHandle::kSmallBytes) {  // copied, so that nothing is lent
    for (const Bytes part : message.tail) {
      if (part.empty()) continue;
      std::memcpy(room.data() + head, part.data(), part.size());
      head += part.size();
    }
    tail = 0;
  }
  if (tail == 0 && head <= CallHandle::kSmallBytes) {
    call.start(message.home.value, target, head, time_left);
  } else if (message.tail.size() <= 1) {
    const std::array<detail::Blob, 2> parts{room.first(head),
                                            tail == 0 ? Bytes{} : message.tail.front()};
    call.start(message.home.value, target, std::span(parts).first(tail == 0 ? 1 : 2), time_left);
  } else {
    std::vector<detail::Blob> parts{room.first(head)};
    for (const Bytes part : message.tail) {
      if (!part.empty()) parts.push_back(part);
    }
    call.start(message.home.value, target, parts, time_left);
  }
  return call;
}

Result<Bytes> answer_of(const CallHandle& call) {
  if (!call) {
    return fail(ErrorCode::overload, "this process has too many calls outstanding, or no memory");
  }
  const detail::Blob* const result = call.result_if_ok();
  if (result == nullptr) {
    Failure failure = call.failure();
    return tl::unexpected(Error{failure.reason, std::move(failure.message)});
  }
  Bytes bytes;
  DecodeError error;
  if (!decode_result(*result, bytes, error)) {
    return fail(ErrorCode::bad_format, "the home's answer does not decode: {}", error.what);
  }
  return bytes;
}

Result<Answered> ask(const Asking& asking, Question question, Ask how) {
  question.stays = true;
  CallHandle call = start(asking, question, how);
  call.wait();
  Result<Bytes> answer = answer_of(call);
  if (!answer && answer.error().code == ErrorCode::would_block && how == Ask::at_once) {
    return ask(asking, question, Ask::slowly);
  }
  if (!answer) return tl::unexpected(std::move(answer).error());
  return Answered{std::move(call), *answer};
}

Result<AnsweredItem> ask_one(const Asking& asking, NodeId home, wire::ObjectOp op,
                             const wire::ObjectItem& item, std::span<const Bytes> tail,
                             std::uint64_t argument, Ask how) {
  GODWIT_TRY(
      Answered answered,
      ask(asking, {.home = home, .op = op, .items = {&item, 1}, .tail = tail, .argument = argument},
          how));
  return finish_one(std::move(answered.call));
}

Result<AnsweredItem> finish_one(CallHandle call) {
  GODWIT_TRY(const Bytes bytes, answer_of(call));
  GODWIT_TRY(const wire::ObjectAnswerView answer, wire::parse_object_answer(bytes));
  GODWIT_CHECK(check(answer));
  return AnsweredItem{std::move(call), answer};
}

Result<AnsweredItems> ask_all(const Asking& asking, const Question& question, Ask how) {
  GODWIT_TRY(Answered answered, ask(asking, question, how));
  GODWIT_TRY(auto answers, wire::parse_object_answers(answered.bytes, question.items.size()));
  return AnsweredItems{std::move(answered.call), std::move(answers)};
}

Result<wire::ObjectAnswerView> answer_to(const Result<AnsweredItems>& all, std::size_t index) {
  if (!all) return tl::unexpected(all.error());
  GODWIT_CHECK(check(all->answers[index]));
  return all->answers[index];
}

std::vector<HomeGroup> by_home(std::span<const Handle> handles, std::size_t per_message) {
  std::vector<HomeGroup> groups;
  std::unordered_map<std::uint64_t, std::size_t> open;  // the group of a home that has room
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const auto [place, is_new] = open.try_emplace(handles[i].home, groups.size());
    if (is_new || groups[place->second].items.size() == per_message) {
      place->second = groups.size();
      groups.push_back({.home = NodeId{handles[i].home}, .which = {}, .items = {}});
    }
    HomeGroup& group = groups[place->second];
    group.which.push_back(i);
    group.items.push_back({.handle = handles[i]});
  }
  return groups;
}

Error while_resolving(const Handle& handle, const Error& error) {
  return {error.code, fmt::format("resolving object {} of node {}: {}", handle.object.short_hex(),
                                  to_hex(handle.home), error.message)};
}

Status check(const wire::ObjectAnswerView& answer) {
  if (answer.fixed.code == 0) return {};
  return tl::unexpected(
      Error{static_cast<ErrorCode>(answer.fixed.code), std::string(text_of(answer.tail))});
}

}  // namespace godwit::ref
