#include "common/gpu.cuh"
#include "streamlines/program.hpp"

namespace gallery::streamlines {

Streamlines trace_on_gpu(godwit::Group& group, const Options& options) {
  return trace_at(Gpu{}, group, options);
}

}  // namespace gallery::streamlines
