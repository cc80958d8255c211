#include "common/gpu.cuh"
#include "transport/program.hpp"

namespace gallery::transport {

Dose simulate_on_gpu(godwit::Group& group, const Options& options) {
  return simulate_at(Gpu{}, group, options);
}

}  // namespace gallery::transport
