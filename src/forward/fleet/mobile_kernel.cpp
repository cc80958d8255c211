#include "forward/fleet/mobile_kernel.hpp"

#include <string_view>
#include <utility>

#include "base/fail.hpp"

namespace godwit::forward {
namespace {

using detail::Cursor;

// Mobile code writes at the port's own cursors.
static_assert(sizeof(godwit_cursor) == sizeof(Cursor) &&
              offsetof(godwit_cursor, at) == offsetof(Cursor, at) &&
              offsetof(godwit_cursor, end) == offsetof(Cursor, end));

constexpr std::size_t kMaxText = 1024;

}  // namespace

MobileKernel::MobileKernel(detail::Port& port, const godwit_rank_v1& kernel, Self self,
                           const ExchangeOptions& options, std::string node)
    : port_(port), kernel_(kernel), self_(self), node_(std::move(node)), workers_(options.workers) {
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    Worker& worker = workers_[index];
    worker.kernel = this;
    worker.index = index;
    worker.out = {.size = sizeof worker.out,
                  .rank = self.rank,
                  .nodes = self.ranks - 1,
                  .stride = self.ranks,
                  .cursors = reinterpret_cast<godwit_cursor*>(port.cursors(index).data()),
                  .context = &worker,
                  .refill = &MobileKernel::refill,
                  .fail = &MobileKernel::fail};
  }
}

// After a failure the rest is not looked at: the exchange ends.
void MobileKernel::process(const detail::Chunk& chunk, std::size_t worker) {
  if (failed_.load(std::memory_order_relaxed)) return;
  kernel_.process(kernel_.kernel, chunk.items(), chunk.count, &workers_[worker].out);
}

std::uint32_t MobileKernel::refill(const godwit_outgoing* out, std::int32_t rank,
                                   std::uint32_t priority) {
  const Worker& worker = *static_cast<const Worker*>(out->context);
  MobileKernel& self = *worker.kernel;
  Emitted taken = Emitted::bad_rank;
  if (rank >= 0 && rank < self.self_.ranks && priority < kPriorities) {
    const std::size_t slot = std::size_t{priority} * static_cast<std::size_t>(self.self_.ranks) +
                             static_cast<std::size_t>(rank);
    taken = self.port_.refill(worker.index, slot, self.kernel_.item_size);
  }
  if (taken != Emitted::ok) self.port_.refuse(taken, 0, rank);
  return static_cast<std::uint32_t>(taken);
}

void MobileKernel::fail(const godwit_outgoing* out, std::uint32_t error, const char* text,
                        std::size_t size) {
  MobileKernel& self = *static_cast<const Worker*>(out->context)->kernel;
  self.failed_.store(true, std::memory_order_relaxed);
  const bool known = error > 0 && error <= 0xFFFF;
  self.port_.end_with({known ? static_cast<ErrorCode>(error) : ErrorCode::app_error,
                       fmt::format("the kernel of rank {}, on node {}, failed: {}", self.self_.rank,
                                   self.node_, std::string_view(text, size).substr(0, kMaxText))});
}

}  // namespace godwit::forward
