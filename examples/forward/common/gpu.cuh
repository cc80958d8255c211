// Gpu: the verbs of cpu.hpp for a GPU. All ranks share it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/need.hpp"
#include "godwit/cuda/exchange.cuh"

namespace gallery {

struct Gpu {
  static constexpr std::int64_t kItemsAtOnce = 1 << 22;
};

inline void need(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

template <class T>
class GpuArray {
 public:
  explicit GpuArray(const std::vector<T>& values) : size_(values.size()) {
    void* memory = nullptr;
    need(cudaMalloc(&memory, size_ * sizeof(T) + 1));  // there may be none
    memory_.reset(static_cast<T*>(memory));
    need(cudaMemcpy(data(), values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  [[nodiscard]] T* data() { return memory_.get(); }
  [[nodiscard]] std::vector<T> fetch() const {
    std::vector<T> values(size_);
    need(cudaDeviceSynchronize());
    need(cudaMemcpy(values.data(), memory_.get(), size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  struct Free {
    void operator()(T* memory) const { cudaFree(memory); }
  };
  std::unique_ptr<T, Free> memory_;
  std::size_t size_;
};

template <class T>
GpuArray<T> put(const Gpu& /*place*/, const std::vector<T>& values) {
  return GpuArray<T>(values);
}

template <class... Items>
godwit::cuda::Exchange<Items...> make_exchange(const Gpu& /*place*/, godwit::Group& group) {
  return need(godwit::cuda::Exchange<Items...>::create(group));
}

template <class Functor, class... Items>
void launch(const Gpu& /*place*/, godwit::cuda::Exchange<Items...>& exchange, std::int64_t count,
            const Functor& functor) {
  need(exchange.launch(static_cast<std::uint64_t>(count), functor));
}

template <class Kernel, class... Items>
void process(const Gpu& /*place*/, godwit::cuda::Exchange<Items...>& exchange,
             const Kernel& kernel) {
  need(exchange.process(kernel));
}

}  // namespace gallery
