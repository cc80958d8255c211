#include "wire/call.hpp"

#include "base/fail.hpp"

namespace godwit::wire {
namespace {

constexpr std::size_t kBlockHead = 16;

template <class Block>
std::optional<Block> read_block(Bytes bytes) {
  if (bytes.size() < sizeof(Block)) return std::nullopt;
  Block block;
  std::memcpy(&block, bytes.data(), sizeof block);
  return block;
}

}  // namespace

Result<CallExtensions> parse_call_extensions(Bytes extension) {
  CallExtensions found;
  while (!extension.empty()) {
    if (extension.size() < kBlockHead) {
      return fail(ErrorCode::protocol_violation, "call extension ends inside a block's head");
    }
    std::uint16_t type = 0;
    std::uint16_t size = 0;
    std::memcpy(&type, extension.data(), sizeof type);
    std::memcpy(&size, extension.data() + sizeof type, sizeof size);
    if (size < kBlockHead || size % kBlockHead != 0 || size > extension.size()) {
      return fail(ErrorCode::protocol_violation,
                  "call extension block of type {} claims {} bytes where {} are left", type, size,
                  extension.size());
    }
    const Bytes block = extension.first(size);
    if (type == static_cast<std::uint16_t>(ExtensionType::code)) {
      found.code = read_block<CodeExtension>(block);
      if (!found.code) return fail(ErrorCode::protocol_violation, "code extension is too short");
    } else if (type == static_cast<std::uint16_t>(ExtensionType::travel)) {
      found.travel = read_block<TravelExtension>(block);
      if (!found.travel)
        return fail(ErrorCode::protocol_violation, "travel extension is too short");
    } else if (type == static_cast<std::uint16_t>(ExtensionType::change)) {
      found.change = read_block<ChangeExtension>(block);
      if (!found.change)
        return fail(ErrorCode::protocol_violation, "change extension is too short");
    } else if (type == static_cast<std::uint16_t>(ExtensionType::object)) {
      const auto object = read_block<ObjectExtension>(block);
      if (!object) return fail(ErrorCode::protocol_violation, "object extension is too short");
      if (found.objects.size() == kMaxObjectArguments) {
        return fail(ErrorCode::protocol_violation, "more than {} objects for one call",
                    kMaxObjectArguments);
      }
      found.objects.push_back(*object);
    }
    extension = extension.subspan(size);
  }
  return found;
}

Result<NeedCode> parse_need_code(Bytes body) {
  auto need = read_block<NeedCode>(body);
  if (!need) {
    return fail(ErrorCode::protocol_violation, "need_code body has {} bytes, {} are needed",
                body.size(), sizeof(NeedCode));
  }
  return *need;
}

Result<CodeView> parse_code(Bytes body) {
  const auto head = read_block<CodeHead>(body);
  if (!head) {
    return fail(ErrorCode::protocol_violation, "code body has {} bytes, its head alone needs {}",
                body.size(), sizeof(CodeHead));
  }
  const std::size_t after_head = body.size() - sizeof(CodeHead);
  if (head->manifest_size > after_head) {
    return fail(ErrorCode::protocol_violation, "code body claims a manifest of {} bytes, {} follow",
                head->manifest_size, after_head);
  }
  CodeView view{*head, body.subspan(sizeof(CodeHead), head->manifest_size), {}};
  if (head->reason != 0) return view;
  const std::size_t slice_at =
      sizeof(CodeHead) + head->manifest_size + code_padding(head->manifest_size);
  if (slice_at > body.size() || head->slice_size != body.size() - slice_at) {
    return fail(ErrorCode::protocol_violation,
                "code body of {} bytes does not hold a slice of {} bytes", body.size(),
                head->slice_size);
  }
  view.slice = body.subspan(slice_at);
  return view;
}

}  // namespace godwit::wire
