#include <cstdio>
#include <stdexcept>
#include <string>

#include "bfs/bfs.hpp"
#include "common/command_line.hpp"
#include "common/ranks.hpp"

using namespace gallery;

int main(int argc, char** argv) {
  int ranks = 4;
  bfs::Options options;
  std::string out = "bfs.png";
  bool check = false;
  CommandLine line("forward_bfs",
                   "Breadth-first search over a graph that is spread over ranks: visits go to the "
                   "owners of the vertices.");
  line.add("--ranks", ranks, "ranks, as threads; `godwit ranks` makes processes", {1, 64});
  line.add("--workers", options.workers, "threads of each rank", {1, 64});
  line.add("--gpu", options.gpu, "run kernels on the GPU");
  line.add("--scale", options.scale, "the graph has 2^scale vertices", {8, 26});
  line.add("--edge-factor", options.edge_factor, "edges for each vertex", {1, 64});
  line.add("--check", check, "compare with a search by one thread, which knows nothing of ranks");
  line.add("--out", out, "the picture, as PNG");
  return line.run(argc, argv, [&] {
    const auto here =
        on_program_ranks(ranks, [&](godwit::Group& group) { return bfs::search(group, options); });
    if (!here) return;  // rank 0 has the levels
    const bfs::Search& found = *here;
    std::printf("%llu edges on %d ranks in %.3f s: %.1f million edges a second\n",
                static_cast<unsigned long long>(found.edges), ranks, found.seconds,
                static_cast<double>(found.edges) / found.seconds / 1e6);
    std::printf("vertices of each level:");
    for (const std::uint64_t count : bfs::count_levels(found.levels)) {
      std::printf(" %llu", static_cast<unsigned long long>(count));
    }
    write_png(bfs::draw(found), out);
    std::printf("\nwritten to %s\n", out.c_str());
    if (!check) return;
    if (bfs::search_alone(options) != found.levels) {
      throw std::runtime_error("the levels differ from those of a search by one thread");
    }
    std::printf("one thread finds the same level for every vertex\n");
  });
}
