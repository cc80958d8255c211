#include "forward/cuda/cuda_error.hpp"
#include "base/fail.hpp"

namespace godwit::cuda {

Status check_cuda(cudaError_t code, const char* what) {
  switch (code) {
    case cudaSuccess: return {};
    case cudaErrorMemoryAllocation:
      return fail(ErrorCode::out_of_memory,
                  "{}: the GPU or the host has too little memory; lower Options::queue_bytes or "
                  "spill_bytes",
                  what);
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidDevice:
      return fail(ErrorCode::unsupported,
                  "{}: no such GPU here ({}); godwit::Exchange runs the same "
                  "functors on CPU threads",
                  what, cudaGetErrorString(code));
    default:
      return fail(
          ErrorCode::internal,
          "{}: {} ({}); a kernel may have broken the GPU's context: nothing on it can go on", what,
          cudaGetErrorString(code), cudaGetErrorName(code));
  }
}

}  // namespace godwit::cuda
