#include "streamlines/streamlines.hpp"

#include <cmath>
#include <cstring>

#include "common/cpu.hpp"
#include "streamlines/program.hpp"

namespace gallery::streamlines {

// On a few tori, around the axis.
Particle seed(std::uint32_t line) {
  constexpr int kTori = 7;
  constexpr float kGoldenAngle = 2.39996323F;
  const float torus = static_cast<float>(line % kTori) / (kTori - 1);
  const float radius = 0.37F + 0.53F * torus;
  const float around = kGoldenAngle * static_cast<float>(line);
  return {.position = {radius * std::cos(around), radius * std::sin(around), 0}, .line = line};
}

Streamlines trace(godwit::Group& group, const Options& options) {
  if (options.gpu) return trace_on_gpu(group, options);
  return trace_at(Cpu{.workers = options.workers}, group, options);
}

bool same(const Streamlines& a, const Streamlines& b) {
  return a.points.size() == b.points.size() &&
         std::memcmp(a.points.data(), b.points.data(), a.points.size() * sizeof(Point)) == 0;
}

}  // namespace gallery::streamlines
