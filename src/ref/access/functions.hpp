// The functions of the ref bundle (mobile/), ready to be called.
#pragma once

#include <cstdint>

#include "godwit/call_handle.hpp"

namespace godwit::ref {

enum class Ask : std::uint8_t { at_once, slowly };

// The function as that caller knows it. Lives as long as the caller. Any thread.
[[nodiscard]] call::FunctionRef& function(Ask how, call::Caller& caller);

}  // namespace godwit::ref
