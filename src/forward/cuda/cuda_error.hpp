// Errors of CUDA as ours.
#pragma once

#include <cuda_runtime_api.h>

#include "godwit/error.hpp"

namespace godwit::cuda {

[[nodiscard]] Status check_cuda(cudaError_t code, const char* what);

}  // namespace godwit::cuda
