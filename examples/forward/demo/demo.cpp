// All four examples, small: what travels, what it is compared with, and a picture of each.
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "bfs/bfs.hpp"
#include "common/command_line.hpp"
#include "common/gpu.hpp"
#include "common/ranks.hpp"
#include "common/stopwatch.hpp"
#include "render/render.hpp"
#include "streamlines/streamlines.hpp"
#include "transport/transport.hpp"

namespace gallery {
namespace {

struct Demo {
  int ranks = 4;
  std::filesystem::path folder;

  void tell(const char* what) const { std::printf("\n%s\n", what); }
  void must(bool holds, const char* claim) const {
    std::printf("  %s: %s\n", claim, holds ? "yes" : "NO");
    if (!holds) throw std::runtime_error(std::string("this does not hold: ") + claim);
  }
  void show(const Image& image, const char* name) const {
    const std::filesystem::path path = folder / name;
    write_png(image, path.string());
    std::printf("  picture: %s\n", path.c_str());
  }

  void render() const;
  void streamlines() const;
  void transport() const;
  void bfs() const;
};

double millions(std::uint64_t number) {
  return static_cast<double>(number) / 1e6;
}

void Demo::render() const {
  tell(
      "render: paths of light through 7,000 spheres. Rays go to the rank that has the next block.");
  render::Options options{.width = 320, .samples = 8};
  const auto body = [&](godwit::Group& group) { return render::render(group, options); };
  const Stopwatch watch;
  const render::Rendering made = on_ranks(ranks, body);
  std::printf("  %d x %d pixels, %d paths each: %.1f s; ranks took up %.1f million rays\n",
              made.image.width, made.image.height, options.samples, watch.seconds(),
              millions(made.taken_up));
  show(made.image, "render.png");
  must(on_ranks(1, body).light == made.light, "one rank makes the same picture, bit by bit");
  if (!has_gpu()) return;
  options.gpu = true;
  must(on_ranks(ranks, body).light == made.light, "and so does the GPU");
}

void Demo::streamlines() const {
  tell("streamlines: particles in a flow. They go on where they are, until they leave the block.");
  streamlines::Options options;
  const auto body = [&](godwit::Group& group) { return streamlines::trace(group, options); };
  const Stopwatch watch;
  const streamlines::Streamlines made = on_ranks(ranks, body);
  std::printf("  %d lines, %llu steps: %.2f s; particles changed rank only %llu times\n",
              options.lines, static_cast<unsigned long long>(made.taken), watch.seconds(),
              static_cast<unsigned long long>(made.hops));
  show(streamlines::draw(made, options, 640), "streamlines.png");
  must(streamlines::same(on_ranks(1, body), made), "one rank traces the same lines, bit by bit");
  if (!has_gpu()) return;
  options.gpu = true;
  must(streamlines::same(on_ranks(ranks, body), made), "and so does the GPU");
}

void Demo::transport() const {
  tell("transport: radiation in a building with walls of concrete and pillars of lead.");
  transport::Options options{.particles = 300'000};
  const auto body = [&](godwit::Group& group) { return transport::simulate(group, options); };
  const Stopwatch watch;
  const transport::Dose made = on_ranks(ranks, body);
  std::printf("  %d particles: %.1f s; they changed rank %.1f million times\n", options.particles,
              watch.seconds(), millions(made.hops));
  show(transport::draw(made, 3), "transport.png");
  must(made.stayed() + made.escaped == transport::energy_of(options),
       "what stayed and what escaped is what was sent out, to the last unit");
  must(on_ranks(1, body).cells == made.cells, "one rank finds the same dose in every cell");
  if (!has_gpu()) return;
  options.gpu = true;
  must(on_ranks(ranks, body).cells == made.cells, "and so does the GPU");
}

void Demo::bfs() const {
  tell("bfs: a search through a graph, level by level. Visits go to the owner of the vertex.");
  bfs::Options options;
  const auto body = [&](godwit::Group& group) { return bfs::search(group, options); };
  const bfs::Search made = on_ranks(ranks, body);
  std::printf("  %.1f million edges: %.3f s, %.0f million edges a second\n", millions(made.edges),
              made.seconds, millions(made.edges) / made.seconds);
  show(bfs::draw(made), "bfs.png");
  must(bfs::search_alone(options) == made.levels, "one thread with a queue finds the same levels");
  if (!has_gpu()) return;
  options.gpu = true;
  must(on_ranks(ranks, body).levels == made.levels, "and so does the GPU");
}

}  // namespace
}  // namespace gallery

int main(int argc, char** argv) {
  gallery::Demo demo;
  // Beside the folder of the executable: build/gallery.
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  std::string folder = (program.parent_path().parent_path() / "gallery").string();
  gallery::CommandLine line("demo_forward", "Work that travels, in four pictures.");
  line.add("--ranks", demo.ranks, "ranks, which are threads here", {1, 64});
  line.add("--out", folder, "where the pictures go");
  return line.run(argc, argv, [&] {
    const gallery::Stopwatch watch;
    demo.folder = folder;
    std::filesystem::create_directories(demo.folder);
    std::printf(
        "Godwit: work that travels\n\n"
        "%d ranks, each with a part of the data. Nobody has all of it: items go to the rank "
        "that owns\ntheir next step, and the exchange knows when none is left anywhere.\n",
        demo.ranks);
    demo.render();
    demo.streamlines();
    demo.transport();
    demo.bfs();
    std::printf("\nall in %.1f s; docs/forward-gallery.md tells how each is made\n",
                watch.seconds());
  });
}
