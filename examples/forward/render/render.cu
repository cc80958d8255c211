#include "common/gpu.cuh"
#include "render/program.hpp"

namespace gallery::render {

Rendering render_on_gpu(godwit::Group& group, const Options& options) {
  return render_at(Gpu{}, group, options);
}

}  // namespace gallery::render
