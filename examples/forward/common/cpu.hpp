// Cpu: a place where arrays lie and kernels run. gpu.cuh has the same verbs for a GPU: a program
// that uses them is written once for both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/need.hpp"
#include "godwit/exchange.hpp"

namespace gallery {

struct Cpu {
  int workers = 1;  // threads that run the kernel on each rank

  static constexpr std::int64_t kItemsAtOnce = 1 << 18;  // that keep a rank busy
};

// Memory that kernels use.
template <class T>
class CpuArray {
 public:
  explicit CpuArray(std::vector<T> values) : values_(std::move(values)) {}
  [[nodiscard]] T* data() { return values_.data(); }
  [[nodiscard]] const std::vector<T>& fetch() const { return values_; }

 private:
  std::vector<T> values_;
};

template <class T>
CpuArray<T> put(const Cpu& /*place*/, std::vector<T> values) {
  return CpuArray<T>(std::move(values));
}

template <class... Items>
godwit::Exchange<Items...> make_exchange(const Cpu& cpu, godwit::Group& group) {
  const godwit::ExchangeOptions options{.workers = static_cast<std::size_t>(cpu.workers)};
  return need(godwit::Exchange<Items...>::create(group, options));
}

// functor(index, out) for every index below `count`: how items come into being.
template <class Functor, class... Items>
void launch(const Cpu& /*place*/, godwit::Exchange<Items...>& exchange, std::int64_t count,
            const Functor& functor) {
  for (std::int64_t i = 0; i < count; ++i) functor(static_cast<std::uint64_t>(i), exchange);
}

template <class Kernel, class... Items>
void process(const Cpu& /*place*/, godwit::Exchange<Items...>& exchange, const Kernel& kernel) {
  exchange.process(kernel);
}

}  // namespace gallery
