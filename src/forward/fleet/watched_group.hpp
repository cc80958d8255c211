// A group's member that may have to stop: whoever it works for can be gone, or its time be up.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "forward/carrier.hpp"
#include "godwit/error.hpp"

namespace godwit::forward {

// Asked by the rank's own thread, every 20 ms at least while it waits; once it has said why, the
// exchange is over on all ranks.
using Interrupted = std::function<std::optional<Error>()>;

[[nodiscard]] std::shared_ptr<detail::GroupCore> watched(std::shared_ptr<detail::GroupCore> member,
                                                         Interrupted interrupted);

}  // namespace godwit::forward
