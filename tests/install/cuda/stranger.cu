// Knows Godwit only as installed: its headers, and its library for GPUs. It links all of what an
// exchange on a GPU needs, and runs where there is none: create() has to say so.
#include <cstdint>
#include <cstdio>
#include <string>

#include <godwit/cuda/exchange.cuh>

struct Walker {
  std::uint32_t hops = 0;
};

struct Step {
  template <class Out>
  GODWIT_KERNEL void operator()(Walker walker, Out& out) const {
    if (++walker.hops < 10) out.emit(walker, out.rank());
  }
};

int main() {
  godwit::ErrorCode code = godwit::ErrorCode::none;
  const godwit::Status done = godwit::run_ranks(1, [&](godwit::Group& group) -> godwit::Status {
    auto exchange = godwit::cuda::Exchange<Walker>::create(group, {.trace_events = 64});
    if (!exchange) {
      code = exchange.error().code;
      return tl::unexpected(exchange.error());
    }
    exchange->emit(Walker{}, 0);
    const auto report = exchange->run(Step{});
    if (!report) return tl::unexpected(report.error());
    return {};
  });
  std::printf("%s\n", done ? "there is a GPU" : done.error().message.c_str());
  return code == godwit::ErrorCode::unsupported ? 0 : 1;
}
