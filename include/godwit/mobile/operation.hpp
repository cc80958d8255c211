// How mobile code calls the operations on regions that come with every node: by name, without
// having their code in its own bundle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "godwit/mobile/here.hpp"
#include "godwit/mobile/refuse.hpp"
#include "godwit/mobile/region.hpp"
#include "godwit/ops/parts.hpp"

namespace godwit::ops {

// Stands for the operations of whichever node resolves it.
inline constexpr CodeId kOperations{};

// One of them, as R(Args...). Throws CallFailed if the node's has another signature.
template <class F>
[[nodiscard]] FunctionRef<F> operation(const Here& here, std::string_view name) {
  return here.function<F>(kOperations, name);
}

// What an operation is about, for its failures. `what` is a constant.
struct Subject {
  const char* what = "";
  std::uint64_t region = 0;
  std::uint64_t index = 0;
  FailureText name{};  // of the region
};

template <class T>
[[nodiscard]] Subject subject_of(const char* what, const RegionView<T>& region,
                                 std::uint64_t index) {
  return {what, region.id(), index, FailureText(region.name())};
}

// Ends as `outcome` did, naming what it was about.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_as(const Subject& subject,
                                                           std::int32_t ending,
                                                           std::uint32_t reason,
                                                           bool may_have_started,
                                                           std::string_view why) {
  char text[FailureText::kLimit + 1];
  std::snprintf(text, sizeof text, "%s of element %llu of region '%s': %.*s", subject.what,
                as_printed(subject.index), subject.name.c_str(), static_cast<int>(why.size()),
                why.data());
  throw CallFailed(ending, reason, may_have_started, text);
}

// The home of an element. Throws CallFailed: invalid_argument if there is no such element,
// node_lost if its shard is lost.
template <class T>
[[nodiscard]] Node home_of(const char* what, const RegionView<T>& region, std::uint64_t index) {
  const Node home = region.owner(index);
  if (home) return home;
  const Subject subject = subject_of(what, region, index);
  if (index < region.size()) {
    fail_as(subject, GODWIT_ENDED_NODE_LOST, kNodeLost, false, "its shard was lost with its node");
  }
  char why[64];
  std::snprintf(why, sizeof why, "it has %llu elements", as_printed(region.size()));
  fail_as(subject, GODWIT_ENDED_REJECTED, kInvalidArgument, false, why);
}

// The home of a shard that exists. Throws CallFailed: node_lost if it is lost.
template <class T>
[[nodiscard]] Node home_of_shard(const Subject& subject, const RegionView<T>& region,
                                 std::uint32_t shard) {
  const Node home = region.home(shard);
  if (home) return home;
  fail_as(subject, GODWIT_ENDED_NODE_LOST, kNodeLost, false, "its shard was lost with its node");
}

// An operation under way. Destroying it cancels it, if it has not ended. Use it from one thread at
// a time, and not after the exported function returned. Raw is what the operation answers.
template <class R, class Raw = R>
class [[nodiscard]] Operation {
 public:
  using Read = R (*)(const Subject& subject, const Raw& raw);

  Operation(Pending<Raw> call, const Subject& subject, Read read) noexcept
      : call_(std::move(call)), subject_(subject), read_(read) {}

  // Waits. Throws CallFailed: it names the operation, the element and the region.
  R get() {
    const CallOutcome<Raw> outcome = call_.outcome();
    if (!outcome) {
      fail_as(subject_, outcome.ending, outcome.reason, outcome.may_have_started, outcome.message);
    }
    return read_(subject_, outcome.value);
  }

 private:
  Pending<Raw> call_;
  Subject subject_;
  Read read_;
};

namespace raw {

using Bytes = std::span<const std::byte>;

template <class T>
[[nodiscard]] Bytes bytes_of_value(const T& value) noexcept {
  return {reinterpret_cast<const std::byte*>(&value), sizeof value};
}

// An element in a reply of bytes.
template <class T>
T read_element(const Subject& subject, const Bytes& bytes) {
  T value;
  if (bytes.size() != sizeof value || !godwit::detail::PlainCheck<T>::valid(bytes.data())) {
    fail_as(subject, GODWIT_ENDED_REJECTED, kTypeMismatch, true,
            "the home sent something that is not an element");
  }
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <class T>
T read_number(const Subject& /*subject*/, const std::uint64_t& bits) {
  return number_from<T>(bits);
}

template <class R>
R read_as_is(const Subject& /*subject*/, const R& value) {
  return value;
}

}  // namespace raw
}  // namespace godwit::ops
