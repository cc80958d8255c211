#include "wire/object.hpp"

#include <algorithm>
#include <cstring>

#include "base/fail.hpp"

namespace godwit::wire {
namespace {

tl::unexpected<Error> bad(const char* what) {
  return fail(ErrorCode::bad_format, "a message about objects {}", what);
}

// Takes the tail of one answer off the front.
Result<ObjectAnswerView> take(const ObjectAnswer& fixed, Bytes& rest) {
  if (fixed.tail_bytes > rest.size()) return bad("is shorter than it says");
  ObjectAnswerView view{fixed, rest.first(fixed.tail_bytes)};
  rest = rest.subspan(std::min(rest.size(), padded_tail(fixed.tail_bytes)));
  return view;
}

ObjectAnswer fixed_at(Bytes bytes, std::size_t index) noexcept {
  ObjectAnswer fixed;
  std::memcpy(&fixed, bytes.data() + index * sizeof fixed, sizeof fixed);
  return fixed;
}

}  // namespace

void ObjectItem::set_terms(const PutTerms& terms) noexcept {
  static_assert(offsetof(ObjectItem, d) == offsetof(ObjectItem, c) + sizeof c);
  std::memcpy(reinterpret_cast<std::byte*>(this) + offsetof(ObjectItem, c), &terms, sizeof terms);
}

PutTerms ObjectItem::terms() const noexcept {
  PutTerms terms;
  std::memcpy(&terms, reinterpret_cast<const std::byte*>(this) + offsetof(ObjectItem, c),
              sizeof terms);
  return terms;
}

void SpreadFacts::set_error(std::uint32_t error, std::string_view reason) noexcept {
  code = error;
  why_bytes = static_cast<std::uint32_t>(std::min(reason.size(), sizeof text));
  std::memcpy(text, reason.data(), why_bytes);
}

std::string_view SpreadFacts::why() const noexcept {
  return {text, std::min<std::size_t>(why_bytes, sizeof text)};
}

Result<std::vector<SpreadFacts>> parse_spread_facts(Bytes tail) {
  std::vector<SpreadFacts> facts(tail.size() / sizeof(SpreadFacts));
  if (facts.size() * sizeof(SpreadFacts) != tail.size() || facts.size() > kMaxSpreadNodes) {
    return bad("reports on no whole number of nodes, or too many");
  }
  if (!facts.empty()) std::memcpy(facts.data(), tail.data(), tail.size());
  return facts;
}

Result<ObjectRequestView> parse_object_request(Bytes bytes) {
  ObjectRequestView view;
  if (bytes.size() < sizeof view.head) return bad("has no head");
  std::memcpy(&view.head, bytes.data(), sizeof view.head);
  const auto op = static_cast<std::uint8_t>(view.head.op);
  if (op == 0 || op >= kObjectOps) {
    return fail(ErrorCode::bad_format, "there is no operation {} on objects", op);
  }
  bytes = bytes.subspan(sizeof view.head);
  if (view.head.count > kMaxObjectItems) return bad("has too many items");
  const std::size_t items = view.head.count * sizeof(ObjectItem);
  if (items > bytes.size()) return bad("is shorter than it says");
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(ObjectItem) != 0) {
    return bad("is not aligned");
  }
  view.items = {reinterpret_cast<const ObjectItem*>(bytes.data()), view.head.count};
  view.tail = bytes.subspan(items);
  return view;
}

Result<std::vector<ObjectAnswerView>> parse_object_answers(Bytes bytes, std::size_t count) {
  if (bytes.size() / sizeof(ObjectAnswer) < count) return bad("has too few answers");
  std::vector<ObjectAnswerView> answers;
  answers.reserve(count);
  Bytes rest = bytes.subspan(count * sizeof(ObjectAnswer));
  for (std::size_t i = 0; i < count; ++i) {
    GODWIT_TRY(const ObjectAnswerView answer, take(fixed_at(bytes, i), rest));
    answers.push_back(answer);
  }
  if (!rest.empty()) return bad("is longer than it says");
  return answers;
}

Result<ObjectAnswerView> parse_object_answer(Bytes bytes) {
  if (bytes.size() < sizeof(ObjectAnswer)) return bad("has no answer");
  Bytes rest = bytes.subspan(sizeof(ObjectAnswer));
  GODWIT_TRY(const ObjectAnswerView answer, take(fixed_at(bytes, 0), rest));
  if (!rest.empty()) return bad("is longer than it says");
  return answer;
}

Result<SegmentGrant> parse_segment_grant(Bytes body) {
  SegmentGrant grant;
  if (body.size() != sizeof grant) return bad("has no segment where one should be");
  std::memcpy(&grant, body.data(), sizeof grant);
  if (grant.segment == 0 || grant.size == 0) return bad("names no segment");
  return grant;
}

std::optional<VoucherTerms> take_voucher(ObjectAnswerView& answer) noexcept {
  VoucherTerms voucher;
  if ((answer.fixed.flags & ObjectAnswer::kVouched) == 0 || answer.tail.size() < sizeof voucher) {
    return std::nullopt;
  }
  const Bytes last = answer.tail.last(sizeof voucher);
  std::memcpy(&voucher, last.data(), sizeof voucher);
  answer.tail = answer.tail.first(answer.tail.size() - sizeof voucher);
  return voucher;
}

Result<Handle> handle_in(const ObjectAnswerView& answer) {
  Handle handle;
  if (answer.tail.size() != sizeof handle) return bad("has no handle where one should be");
  std::memcpy(&handle, answer.tail.data(), sizeof handle);
  if (handle.format != Handle::kFormat) return bad("has a handle of another format");
  return handle;
}

}  // namespace godwit::wire
