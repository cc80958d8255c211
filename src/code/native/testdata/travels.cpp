// Mobile code that leans on what differs between machines: layout, alignment, vectors, unwinding,
// thread-locals, atomics, constructors, and the size of a result.
#include <atomic>
#include <cmath>
#include <godwit/mobile.hpp>
#include <godwit/mobile/std.hpp>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  return a + b;
}
GODWIT_EXPORT(add, inline_);

double norm(godwit::Here&, std::span<const double> x) {
  return std::sqrt(std::transform_reduce(x.begin(), x.end(), x.begin(), 0.0));
}
GODWIT_EXPORT(norm);

std::string repeat(const std::string& text, std::uint32_t times) {
  std::string out;
  for (std::uint32_t i = 0; i < times; ++i) out += text;
  return out;
}
GODWIT_EXPORT(repeat);

std::uint32_t refuse(std::int32_t value) {
  if (value < 0) throw std::out_of_range("negative: " + std::to_string(value));
  return static_cast<std::uint32_t>(value);
}
GODWIT_EXPORT(refuse);

namespace {

std::vector<std::uint64_t> constructed(3, 7);
thread_local std::uint64_t per_thread = 100;
std::atomic<std::uint64_t> shared{1000};

struct Shape {
  virtual ~Shape() = default;
  virtual std::uint64_t corners() const = 0;
};
struct Square final : Shape {
  std::uint64_t corners() const override { return 4; }
};

}  // namespace

std::uint64_t language(std::uint64_t start) {
  const std::unique_ptr<Shape> shape = std::make_unique<Square>();
  ++per_thread;
  shared.fetch_add(1);
  return std::accumulate(constructed.begin(), constructed.end(), start) + per_thread + shared +
         shape->corners();
}
GODWIT_EXPORT(language);
