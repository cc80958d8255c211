#include "forward/port_trace.hpp"

namespace godwit::forward {

void PortTrace::record(std::string_view name, std::size_t worker, const Timed& timed) noexcept {
  if (!ring_) return;
  ring_->record(name, static_cast<std::uint32_t>(worker), timed.begin, timed.lasted, timed.items);
}

}  // namespace godwit::forward
