// A path tracer for a scene that no rank has as a whole: rays go where the next block is.
#pragma once

#include <cstdint>
#include <vector>

#include "common/image.hpp"
#include "godwit/group.hpp"

namespace gallery::render {

struct Options {
  int width = 480;
  int samples = 16;          // paths for each pixel
  bool show_owners = false;  // tint what a rank owns
  int workers = 1;           // threads that run the kernel on each rank
  bool gpu = false;          // runs it on the GPU instead

  [[nodiscard]] int height() const { return width * 5 / 8; }
};

struct Rendering {
  Image image;
  std::vector<std::uint64_t> light;  // the sums behind it, to compare to the bit
  std::uint64_t taken_up = 0;        // rays, by ranks: again each time they come to another
};

// Every rank calls it. The picture is rank 0's.
Rendering render(godwit::Group& group, const Options& options);
Rendering render_on_gpu(godwit::Group& group, const Options& options);

// The sums of light as a picture.
Image develop(const std::vector<std::uint64_t>& light, const Options& options);

}  // namespace gallery::render
