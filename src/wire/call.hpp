// The variable parts of call messages: header extensions, the outcome word, and the bodies of
// need_code and code. Pure functions between bytes and structs; docs/protocol.md is the spec.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"
#include "godwit/outcome.hpp"
#include "wire/header.hpp"

namespace godwit::wire {

// Flags of call messages. Every call sent on a link gets exactly one reply (or hop_moved) on that
// link, which gives its credit back; a kDirect reply is the one that does not.
constexpr std::uint8_t kIdempotent = 1;  // call: the caller may send it again if the node is lost
// reply, hop_ended: the answer itself comes apart, from the last node or when the call has begun
constexpr std::uint8_t kAnswered = 2;
constexpr std::uint8_t kDirect = 4;   // reply: the answer that was promised by a kAnswered
constexpr std::uint8_t kRelayed = 8;  // need_code: for another node; not to be relayed again

// --- The outcome word: Header::aux of reply and hop_ended -------------------------------------

struct OutcomeWord {
  Ending ending = Ending::ok;
  bool may_have_started = false;
  ErrorCode reason = ErrorCode::none;
};
[[nodiscard]] inline std::uint32_t pack(OutcomeWord word) noexcept {
  return static_cast<std::uint32_t>(word.ending) | (word.may_have_started ? 0x100U : 0U) |
         (static_cast<std::uint32_t>(word.reason) << 16);
}
// An ending this build does not know reads as rejected.
[[nodiscard]] inline OutcomeWord unpack_outcome(std::uint32_t aux) noexcept {
  const auto ending = aux & 0xFFU;
  OutcomeWord word;
  word.ending = ending <= static_cast<std::uint32_t>(Ending::rejected) ? static_cast<Ending>(ending)
                                                                       : Ending::rejected;
  word.may_have_started = (aux & 0x100U) != 0;
  word.reason = static_cast<ErrorCode>(aux >> 16);
  return word;
}

// --- Extensions -------------------------------------------------------------------------------
// A sequence of blocks, each {u16 type, u16 size, ...}, size counting itself and a multiple of 16,
// so that the arguments behind them stay aligned. A reader skips blocks of a type it does not know.

enum class ExtensionType : std::uint16_t { code = 1, travel = 2, change = 3, object = 4 };

// Names a function in full. Needed until the caller has learnt its token.
struct CodeExtension {
  std::uint16_t type = static_cast<std::uint16_t>(ExtensionType::code);
  std::uint16_t size = sizeof(CodeExtension);
  std::uint32_t function = 0;  // index in the bundle
  std::uint64_t reserved = 0;
  ContentId bundle;
};
static_assert(sizeof(CodeExtension) == 48);

// Names a travelling call: the node that took it in, and its id there. Also the body of a cancel
// that follows one.
struct IntakeId {
  std::uint64_t node = 0;
  std::uint64_t call = 0;
  friend bool operator==(const IntakeId&, const IntakeId&) = default;
};
static_assert(sizeof(IntakeId) == 16);

// Limits of a call made by mobile code and, while `intake_node` is set, where a travelling call
// came from: the intake is the node that took it in from its origin and answers for it.
struct TravelExtension {
  std::uint16_t type = static_cast<std::uint16_t>(ExtensionType::travel);
  std::uint16_t size = sizeof(TravelExtension);
  std::uint32_t hops_left = 0;
  std::uint64_t origin_node = 0;
  std::uint64_t origin_call = 0;
  std::uint64_t intake_node = 0;
  std::uint64_t intake_call = 0;
  std::uint64_t reserved = 0;
  [[nodiscard]] IntakeId intake() const noexcept { return {intake_node, intake_call}; }
};
static_assert(sizeof(TravelExtension) == 48);

// The call begins once an element of a region, of 1, 2, 4 or 8 bytes, differs from what was last
// seen of it; its bits are then put into the arguments.
struct ChangeExtension {
  std::uint16_t type = static_cast<std::uint16_t>(ExtensionType::change);
  std::uint16_t size = sizeof(ChangeExtension);
  std::uint32_t element_size = 0;
  std::uint64_t region = 0;
  std::uint64_t index = 0;
  std::uint64_t last_seen = 0;  // the element's bits, the rest 0
  std::uint32_t value_at = 0;   // in the arguments, in bytes
  std::uint32_t reserved = 0;
  std::uint64_t reserved_too = 0;
};
static_assert(sizeof(ChangeExtension) == 48);

// The bytes of an object stand for an argument, whose descriptor in the blob leads nowhere.
struct ObjectExtension {
  std::uint16_t type = static_cast<std::uint16_t>(ExtensionType::object);
  std::uint16_t size = sizeof(ObjectExtension);
  std::uint32_t parameter = 0;  // counted from 0
  std::uint64_t reserved[3] = {};
  Handle handle;
};
static_assert(sizeof(ObjectExtension) == 96 && std::is_trivially_copyable_v<ObjectExtension>);
constexpr std::size_t kMaxObjectArguments = 16;

struct CallExtensions {
  std::optional<CodeExtension> code;
  std::optional<TravelExtension> travel;
  std::optional<ChangeExtension> change;
  std::vector<ObjectExtension> objects;  // at most kMaxObjectArguments
};
[[nodiscard]] Result<CallExtensions> parse_call_extensions(Bytes extension);

// The extension bytes of a call, built in place.
class ExtensionWriter {
 public:
  void add(const CodeExtension& block) noexcept { append(bytes_of_value(block)); }
  void add(const TravelExtension& block) noexcept { append(bytes_of_value(block)); }
  void add(const ChangeExtension& block) noexcept { append(bytes_of_value(block)); }
  // At most kMaxObjectArguments.
  void add(const ObjectExtension& block) noexcept { append(bytes_of_value(block)); }
  [[nodiscard]] Bytes view() const noexcept { return {storage_.data(), size_}; }

 private:
  void append(Bytes block) noexcept {
    std::memcpy(storage_.data() + size_, block.data(), block.size());
    size_ += block.size();
  }
  std::array<std::byte, sizeof(CodeExtension) + sizeof(TravelExtension) + sizeof(ChangeExtension) +
                            kMaxObjectArguments * sizeof(ObjectExtension)>
      storage_;
  std::size_t size_ = 0;
};

// --- Code on demand ---------------------------------------------------------------------------

// What a node can run; sent with every request, so that the sender of code keeps no state.
struct CodeTarget {
  std::uint8_t machine = 0;      // a code::Machine
  std::uint8_t has_jit = 0;      // runs bitcode
  std::uint16_t llvm_major = 0;  // newest bitcode it reads
  std::uint32_t reserved = 0;
};

// Header::id numbers the question, and comes back with the answer.
struct NeedCode {
  ContentId bundle;
  CodeTarget target;
  // If the node that is asked is the intake of a travelling call that needs the code: that call's
  // id there. Its origin may have the code.
  std::uint64_t intake_call = 0;
};
static_assert(sizeof(NeedCode) == 48 && std::is_trivially_copyable_v<NeedCode>);
[[nodiscard]] Result<NeedCode> parse_need_code(Bytes body);

// A code body: this head, the manifest, padding to 64 bytes, the slice. On failure the head
// carries the reason and a sentence stands in the manifest's place.
struct CodeHead {
  ContentId bundle;
  std::uint32_t reason = 0;  // an ErrorCode; 0: here is the code
  std::uint32_t manifest_size = 0;
  std::uint64_t slice_size = 0;
  std::uint64_t referral = 0;  // on failure: a node that may have the code; 0: none is known
  std::uint64_t reserved = 0;
};
static_assert(sizeof(CodeHead) == 64 && std::is_trivially_copyable_v<CodeHead>);
constexpr std::size_t kSliceAlignment = 64;
[[nodiscard]] constexpr std::size_t code_padding(std::size_t manifest_size) noexcept {
  const std::size_t used = (sizeof(CodeHead) + manifest_size) % kSliceAlignment;
  return used == 0 ? 0 : kSliceAlignment - used;
}

struct CodeView {
  CodeHead head;
  Bytes manifest;  // or the failure's sentence
  Bytes slice;
};
[[nodiscard]] Result<CodeView> parse_code(Bytes body);

}  // namespace godwit::wire
