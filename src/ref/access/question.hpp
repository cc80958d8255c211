// One request about objects to their home, as a call.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "godwit/call_handle.hpp"
#include "godwit/error.hpp"
#include "ref/access/functions.hpp"
#include "wire/object.hpp"

namespace godwit::ref {

// A process that asks; its epoch tells its lives apart.
struct Asking {
  call::Caller& caller;
  Epoch epoch;
};

struct Question {
  NodeId home;
  wire::ObjectOp op = wire::ObjectOp::none;
  std::span<const wire::ObjectItem> items{};
  // Behind the items; lent until the call has ended. Of several parts all but the last are
  // multiples of 16 bytes long, or the operation has no use for padding.
  std::span<const Bytes> tail{};
  std::uint64_t argument = 0;
  std::chrono::nanoseconds time_left{};  // 0: the caller's default
  std::uint8_t flags = 0;                // of wire::ObjectRequest
  bool stays = false;                    // the asker waits for the answer, and does nothing else
};

// Any request that these functions take: a head, of which the first part is fixed, and a tail.
struct Message {
  NodeId home;
  Bytes head;  // copied, and so is what follows it
  Bytes items{};
  std::span<const Bytes> tail{};  // lent until the call has ended
  std::chrono::nanoseconds time_left{};
  bool stays = false;  // see Question
};
[[nodiscard]] detail::CallHandle send(const Asking& asking, const Message& message, Ask how);

// Sends it. The items are copied.
[[nodiscard]] detail::CallHandle start(const Asking& asking, const Question& question, Ask how);
// The answer's bytes, of a call that has ended; they lie in the call. Errors: what the home said,
// or what became of the call.
[[nodiscard]] Result<Bytes> answer_of(const detail::CallHandle& call);

// Sends it, waits, and asks again, slowly, if the home says would_block. The answer lies in the
// call.
struct Answered {
  detail::CallHandle call;
  Bytes bytes;
};
[[nodiscard]] Result<Answered> ask(const Asking& asking, Question question, Ask how = Ask::at_once);
// The same for one item: its answer; an error that the home says of it is an error here.
struct AnsweredItem {
  detail::CallHandle call;
  wire::ObjectAnswerView answer;
};
[[nodiscard]] Result<AnsweredItem> ask_one(const Asking& asking, NodeId home, wire::ObjectOp op,
                                           const wire::ObjectItem& item,
                                           std::span<const Bytes> tail = {},
                                           std::uint64_t argument = 0, Ask how = Ask::at_once);

// Of a call about one item that has ended.
[[nodiscard]] Result<AnsweredItem> finish_one(detail::CallHandle call);

// The same for several items of one home.
struct AnsweredItems {
  detail::CallHandle call;
  std::vector<wire::ObjectAnswerView> answers;
};
[[nodiscard]] Result<AnsweredItems> ask_all(const Asking& asking, const Question& question,
                                            Ask how);
// What became of one of them: its answer, its error, or that of the whole.
[[nodiscard]] Result<wire::ObjectAnswerView> answer_to(const Result<AnsweredItems>& all,
                                                       std::size_t index);

// What the home said of one item. Errors: its error.
[[nodiscard]] Status check(const wire::ObjectAnswerView& answer);

// What a reader of the object is told.
[[nodiscard]] Error while_resolving(const Handle& handle, const Error& error);

// Handles sorted by their homes, in groups that fit into a message.
struct HomeGroup {
  NodeId home;
  std::vector<std::size_t> which;  // of the handles
  std::vector<wire::ObjectItem> items;
};
[[nodiscard]] std::vector<HomeGroup> by_home(std::span<const Handle> handles,
                                             std::size_t per_message);

}  // namespace godwit::ref
