#include <cstdio>
#include <stdexcept>
#include <string>

#include "common/command_line.hpp"
#include "common/ranks.hpp"
#include "common/stopwatch.hpp"
#include "streamlines/streamlines.hpp"

using namespace gallery;

int main(int argc, char** argv) {
  int ranks = 4;
  int size = 640;
  streamlines::Options options;
  std::string out = "streamlines.png";
  bool check = false;
  CommandLine line("forward_streamlines",
                   "Streamlines of a vector field that is spread over ranks: particles go to the "
                   "rank that owns the next block of space.");
  line.add("--ranks", ranks, "ranks, as threads; `godwit ranks` makes processes", {1, 64});
  line.add("--workers", options.workers, "threads of each rank", {1, 64});
  line.add("--gpu", options.gpu, "run kernels on the GPU");
  line.add("--lines", options.lines, "lines to trace", {1, 1'000'000});
  line.add("--steps", options.steps, "steps of each, at most", {2, 1'000'000});
  line.add("--size", size, "width of the picture", {16, 8192});
  line.add("--check", check, "compare with the lines of a single rank, to the bit");
  line.add("--out", out, "the picture, as PNG");
  return line.run(argc, argv, [&] {
    const auto body = [&](godwit::Group& group) { return streamlines::trace(group, options); };
    const Stopwatch watch;
    const auto here = on_program_ranks(ranks, body);
    if (!here) return;  // rank 0 has the lines
    const streamlines::Streamlines& made = *here;
    const double took = watch.seconds();
    std::printf("%d lines, %llu steps, on %d ranks in %.2f s; particles changed rank %llu times\n",
                options.lines, static_cast<unsigned long long>(made.taken), ranks, took,
                static_cast<unsigned long long>(made.hops));
    write_png(streamlines::draw(made, options, size), out);
    std::printf("written to %s\n", out.c_str());
    if (!check) return;
    options.gpu = false;
    if (!streamlines::same(on_ranks(1, body), made)) {
      throw std::runtime_error("the lines differ from those of a single rank on a CPU");
    }
    std::printf("a single rank on a CPU traces the same lines, bit by bit\n");
  });
}
