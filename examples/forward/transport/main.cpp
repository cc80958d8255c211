#include <cstdio>
#include <stdexcept>
#include <string>

#include "common/command_line.hpp"
#include "common/ranks.hpp"
#include "common/stopwatch.hpp"
#include "transport/transport.hpp"

using namespace gallery;

int main(int argc, char** argv) {
  int ranks = 4;
  int scale = 3;
  transport::Options options;
  std::string out = "transport.png";
  bool check = false;
  CommandLine line("forward_transport",
                   "Particles fly through a building that is spread over ranks, and leave a dose "
                   "in every cell.");
  line.add("--ranks", ranks, "ranks, as threads; `godwit ranks` makes processes", {1, 64});
  line.add("--workers", options.workers, "threads of each rank", {1, 64});
  line.add("--gpu", options.gpu, "run kernels on the GPU");
  line.add("--particles", options.particles, "particles to follow", {1, 1'000'000'000});
  line.add("--scale", scale, "pixels to a cell", {1, 16});
  line.add("--check", check, "compare with the dose of a single rank, to the last unit");
  line.add("--out", out, "the picture, as PNG");
  return line.run(argc, argv, [&] {
    const auto body = [&](godwit::Group& group) { return transport::simulate(group, options); };
    const Stopwatch watch;
    const auto here = on_program_ranks(ranks, body);
    if (!here) return;  // rank 0 has the dose
    const transport::Dose& made = *here;
    const double took = watch.seconds();
    std::printf("%d particles on %d ranks in %.2f s; they changed rank %llu times\n",
                options.particles, ranks, took, static_cast<unsigned long long>(made.hops));
    write_png(transport::draw(made, scale), out);
    std::printf("written to %s\n", out.c_str());
    if (made.stayed() + made.escaped != transport::energy_of(options)) {
      throw std::runtime_error(
          "energy was lost or found: what stayed and what escaped is not "
          "what the source sent out");
    }
    std::printf("energy: %.3f %% stayed, %.3f %% escaped, none is missing\n",
                100.0 * static_cast<double>(made.stayed()) /
                    static_cast<double>(transport::energy_of(options)),
                100.0 * static_cast<double>(made.escaped) /
                    static_cast<double>(transport::energy_of(options)));
    if (!check) return;
    options.gpu = false;
    const transport::Dose alone = on_ranks(1, body);
    if (alone.cells != made.cells || alone.escaped != made.escaped) {
      throw std::runtime_error("the dose differs from that of a single rank on a CPU");
    }
    std::printf("a single rank on a CPU finds the same dose in every cell\n");
  });
}
