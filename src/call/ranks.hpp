// Ranks of an exchange as the verbs of mobile code need them. Implemented by forward/.
#pragma once

#include <functional>
#include <optional>

#include "base/scheduler.hpp"
#include "godwit/error.hpp"
#include "godwit/mobile_abi.h"

namespace godwit::call {

// Any thread.
class Ranks {
 public:
  // Asked now and then: why the call that is a rank has to end, if it has to.
  using Interrupted = std::function<std::optional<Error>()>;

  virtual ~Ranks() = default;
  // Is a rank until the exchange is over; takes as long as that. Throws nothing. Errors: as
  // godwit_here_v1 says of run_rank().
  [[nodiscard]] virtual Status run(godwit_rank_v1& rank, const Interrupted& interrupted) = 0;
};

}  // namespace godwit::call
