#include <cstdio>
#include <stdexcept>
#include <string>

#include "common/command_line.hpp"
#include "common/ranks.hpp"
#include "common/stopwatch.hpp"
#include "render/render.hpp"

using namespace gallery;

int main(int argc, char** argv) {
  int ranks = 4;
  render::Options options;
  std::string out = "render.png";
  bool check = false;
  CommandLine line("forward_render",
                   "A path tracer whose scene is spread over ranks: rays go to the rank that owns "
                   "the next block of space.");
  line.add("--ranks", ranks, "ranks, as threads; `godwit ranks` makes processes", {1, 64});
  line.add("--workers", options.workers, "threads of each rank", {1, 64});
  line.add("--gpu", options.gpu, "run kernels on the GPU");
  line.add("--size", options.width, "width of the picture", {16, 8192});
  line.add("--samples", options.samples, "paths for each pixel", {1, 65535});
  line.add("--show-owners", options.show_owners, "tint what a rank owns in its colour");
  line.add("--check", check, "compare with the picture of a single rank, to the bit");
  line.add("--out", out, "the picture, as PNG");
  return line.run(argc, argv, [&] {
    const auto body = [&](godwit::Group& group) { return render::render(group, options); };
    const Stopwatch watch;
    const auto here = on_program_ranks(ranks, body);
    if (!here) return;  // rank 0 has the picture
    const render::Rendering& made = *here;
    const double took = watch.seconds();
    std::printf("%d x %d pixels, %d paths each, on %d ranks in %.2f s; they took up %llu rays\n",
                made.image.width, made.image.height, options.samples, ranks, took,
                static_cast<unsigned long long>(made.taken_up));
    write_png(made.image, out);
    std::printf("written to %s\n", out.c_str());
    if (!check) return;
    options.gpu = false;
    if (on_ranks(1, body).light != made.light) {
      throw std::runtime_error("the picture differs from that of a single rank on a CPU");
    }
    std::printf("a single rank on a CPU makes the same picture, bit by bit\n");
  });
}
