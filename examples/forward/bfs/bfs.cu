#include "bfs/bfs.hpp"
#include "bfs/program.hpp"
#include "common/gpu.cuh"

namespace gallery::bfs {

std::vector<std::uint32_t> find_levels_on_gpu(godwit::Group& group, const Options& options,
                                              const LocalGraph& graph) {
  return find_levels_at(Gpu{}, group, options, graph);
}

}  // namespace gallery::bfs
