// How long a GPU takes for a rank's kernels, if its exchange is traced; else nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "forward/cuda/cuda_error.hpp"
#include "forward/port_trace.hpp"

namespace godwit::cuda {

// Used by the rank's thread.
class Stopwatch {
 public:
  explicit Stopwatch(forward::PortTrace& trace) : trace_(trace) {}
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  // Around a launch for so many items.
  [[nodiscard]] Status start(cudaStream_t stream, std::uint64_t items);
  [[nodiscard]] Status stop(cudaStream_t stream);
  // When all has ended: tells of it, from when it was launched.
  void record(const char* what);

 private:
  struct Lap {
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    Time launched{};
    std::uint64_t items = 0;
  };
  forward::PortTrace& trace_;
  std::vector<Lap> laps_;  // made, ever
  std::size_t used_ = 0;   // of them, in this round
};

}  // namespace godwit::cuda
