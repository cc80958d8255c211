#include "transport/transport.hpp"

#include <numeric>

#include "common/cpu.hpp"
#include "transport/program.hpp"

namespace gallery::transport {

std::uint64_t Dose::stayed() const {
  return std::accumulate(cells.begin(), cells.end(), std::uint64_t{0});
}

std::uint64_t energy_of(const Options& options) {
  return std::uint64_t{kEnergy} * static_cast<std::uint64_t>(options.particles);
}

Dose simulate(godwit::Group& group, const Options& options) {
  if (options.gpu) return simulate_on_gpu(group, options);
  return simulate_at(Cpu{.workers = options.workers}, group, options);
}

}  // namespace gallery::transport
