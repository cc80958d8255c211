#include <cuda_runtime.h>

#include "common/gpu.hpp"

namespace gallery {

bool has_gpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

}  // namespace gallery
