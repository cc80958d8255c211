// How a call ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

#include "godwit/error.hpp"
#include "godwit/export.hpp"

namespace godwit {

// Every call ends exactly once, in one of these.
enum class Ending : std::uint8_t {
  ok = 0,
  app_error = 1,  // the function threw, or returned an error of its own
  cancelled = 2,
  deadline = 3,
  evicted = 4,    // its node was reclaimed
  crashed = 5,    // its process died of a signal or ran out of memory
  node_lost = 6,  // the link to its node broke
  rejected = 7,   // the node, or this process, would not take it: see Failure::reason
};
[[nodiscard]] GODWIT_API std::string_view to_string(Ending ending) noexcept;

struct Failure {
  Ending ending = Ending::rejected;
  ErrorCode reason = ErrorCode::internal;
  // False only if the function provably never began; then calling again is always safe.
  bool may_have_started = false;
  std::string message;
};

// "node_lost: the link to node n2 broke (it may have started)"
[[nodiscard]] GODWIT_API std::string to_string(const Failure& failure);

// The value of a call that ended ok, or how it failed. Everything is tl::expected's; `ending()`
// covers both.
template <class T>
class [[nodiscard]] Outcome : public tl::expected<T, Failure> {
 public:
  using Base = tl::expected<T, Failure>;
  using Base::Base;
  Outcome(Base&& other) noexcept : Base(std::move(other)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] Ending ending() const noexcept {
    return this->has_value() ? Ending::ok : this->error().ending;
  }
};

}  // namespace godwit
