// Linked into a test, counts its calls of operator new.
#pragma once

namespace godwit::code {

[[nodiscard]] long allocation_count() noexcept;

}  // namespace godwit::code
