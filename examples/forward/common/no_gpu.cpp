// Stands in for the sources that nvcc compiles, where there is no nvcc.
#include <stdexcept>

#include "bfs/bfs.hpp"
#include "common/gpu.hpp"
#include "render/render.hpp"
#include "streamlines/streamlines.hpp"
#include "transport/transport.hpp"

namespace gallery {
namespace {

[[noreturn]] void refuse() {
  throw std::runtime_error("this program was built without CUDA: leave out --gpu");
}

}  // namespace

bool has_gpu() {
  return false;
}
render::Rendering render::render_on_gpu(godwit::Group& /*group*/, const Options& /*options*/) {
  refuse();
}
streamlines::Streamlines streamlines::trace_on_gpu(godwit::Group& /*group*/,
                                                   const Options& /*options*/) {
  refuse();
}
transport::Dose transport::simulate_on_gpu(godwit::Group& /*group*/, const Options& /*options*/) {
  refuse();
}
std::vector<std::uint32_t> bfs::find_levels_on_gpu(godwit::Group& /*group*/,
                                                   const Options& /*options*/,
                                                   const LocalGraph& /*graph*/) {
  refuse();
}

}  // namespace gallery
