// Mobile code: plain C++, built once with `godwit cc kernels.cpp -o kernels.gdw`, run anywhere.
#include <godwit/mobile.hpp>
#include <godwit/mobile/std.hpp>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

// Short and never waiting, so it may run on the thread that received it.
std::uint64_t add(godwit::Here&, std::uint64_t a, std::uint64_t b) {
  return a + b;
}
GODWIT_EXPORT(add, inline_);

// The samples are not copied: the span points into the message.
double norm(godwit::Here&, std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}
GODWIT_EXPORT(norm, idempotent);

// Goes from node to node; the last one answers the caller.
godwit::Next<std::vector<std::string>> tour(godwit::Here& here, std::vector<std::string> visited,
                                            std::vector<godwit::Node> to_go) {
  visited.push_back("node " + std::to_string(here.self().id));
  if (to_go.empty()) return visited;
  const godwit::Node next = to_go.back();
  to_go.pop_back();
  return here.continue_at<tour>(next, visited, to_go);
}
GODWIT_EXPORT(tour);

// A failure of the function's own reaches the caller as app_error, with these words.
double reciprocal(godwit::Here&, double x) {
  if (x == 0) throw std::domain_error("zero has no reciprocal");
  return 1 / x;
}
GODWIT_EXPORT(reciprocal);
