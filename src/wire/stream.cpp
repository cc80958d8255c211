#include "wire/stream.hpp"

#include <cstring>

#include "base/fail.hpp"

namespace godwit::wire {
namespace {

tl::unexpected<Error> cut_short() {
  return fail(ErrorCode::bad_format, "a message about a topic is shorter than it says");
}

}  // namespace

Result<StreamRequestView> parse_stream_request(Bytes bytes) {
  StreamRequestView view;
  if (bytes.size() < sizeof view.head) return cut_short();
  std::memcpy(&view.head, bytes.data(), sizeof view.head);
  const auto op = static_cast<std::uint8_t>(view.head.op);
  if (op < kFirstStreamOp || op >= kStreamOpsEnd) {
    return fail(ErrorCode::bad_format, "there is no operation {} on topics", op);
  }
  view.tail = bytes.subspan(sizeof view.head);
  return view;
}

Status TailReader::copy_to(MutableBytes value) {
  if (rest_.size() < value.size()) return cut_short();
  std::memcpy(value.data(), rest_.data(), value.size());
  rest_ = rest_.subspan(value.size());
  return {};
}

Result<Bytes> TailReader::take_bytes(std::size_t bytes) {
  if (rest_.size() < bytes) return cut_short();
  const Bytes taken = rest_.first(bytes);
  rest_ = rest_.subspan(bytes);
  return taken;
}

Result<std::string_view> TailReader::take_text(std::size_t bytes) {
  GODWIT_TRY(const Bytes taken, take_bytes(bytes));
  return text_of(taken);
}

Result<std::vector<StreamSliceView>> parse_slices(const ObjectAnswerView& answer) {
  const std::uint64_t count = answer.fixed.type;
  if (count > answer.tail.size() / sizeof(StreamSlice)) return cut_short();
  const bool in_tail = (answer.fixed.flags & ObjectAnswer::kInTail) != 0;
  TailReader reader(answer.tail);
  std::vector<StreamSliceView> slices(count);
  for (StreamSliceView& slice : slices) {
    GODWIT_TRY(slice.fixed, reader.take<StreamSlice>());
    if (slice.fixed.items == 0 || slice.fixed.index > slice.fixed.batch_items ||
        slice.fixed.items > slice.fixed.batch_items - slice.fixed.index) {
      return fail(ErrorCode::bad_format, "a delivery has items that its batch has not");
    }
  }
  for (StreamSliceView& slice : slices) {
    if (!in_tail) break;
    GODWIT_TRY(slice.image, reader.take_bytes(slice.fixed.bytes));
    const std::size_t gap = padded_tail(slice.fixed.bytes) - slice.fixed.bytes;
    GODWIT_TRY(const Bytes padding, reader.take_bytes(std::min(gap, reader.rest().size())));
    static_cast<void>(padding);
  }
  return slices;
}

}  // namespace godwit::wire
