// Whether this program can run its kernels on a GPU.
#pragma once

namespace gallery {

// There is one, and the program was built with CUDA.
bool has_gpu();

}  // namespace gallery
