// Mobile code for the tests of whole fleets.
#include <godwit/mobile.hpp>
#include <godwit/mobile/std.hpp>

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace kernels {

struct Point {
  double x = 0;
  double y = 0;
};
GODWIT_STRUCT(Point, x, y);

std::uint64_t add(godwit::Here&, std::uint64_t a, std::uint64_t b) {
  return a + b;
}
GODWIT_EXPORT(add, inline_);

std::uint64_t add_on_pool(godwit::Here&, std::uint64_t a, std::uint64_t b) {
  return a + b;
}
GODWIT_EXPORT(add_on_pool);

std::uint64_t add_again(godwit::Here&, std::uint64_t a, std::uint64_t b) {
  return a + b;
}
GODWIT_EXPORT(add_again, idempotent);

double norm(godwit::Here&, std::span<const double> x) {
  return std::sqrt(std::transform_reduce(x.begin(), x.end(), x.begin(), 0.0));
}
GODWIT_EXPORT(norm);

std::string greet(godwit::Here&, std::string_view who) {
  return "hello, " + std::string(who);
}
GODWIT_EXPORT(greet);

std::vector<double> doubled(godwit::Here&, std::span<const double> x) {
  std::vector<double> result(x.begin(), x.end());
  for (double& value : result) value *= 2;
  return result;
}
GODWIT_EXPORT(doubled);

std::map<std::string, std::uint32_t> count(godwit::Here&, std::vector<std::string> words) {
  std::map<std::string, std::uint32_t> counts;
  for (const std::string& word : words) ++counts[word];
  return counts;
}
GODWIT_EXPORT(count);

std::optional<std::tuple<std::string, double>> best(godwit::Here&,
                                                    std::map<std::string, double> scores) {
  std::optional<std::tuple<std::string, double>> found;
  for (const auto& [name, score] : scores) {
    if (!found || score > std::get<1>(*found)) found = {name, score};
  }
  return found;
}
GODWIT_EXPORT(best);

Point mirrored(godwit::Here&, Point p) {
  return {-p.x, -p.y};
}
GODWIT_EXPORT(mirrored);

void nothing(godwit::Here&) {}
GODWIT_EXPORT(nothing);

double reciprocal(godwit::Here&, double x) {
  if (x == 0) throw std::domain_error("zero has no reciprocal");
  return 1 / x;
}
GODWIT_EXPORT(reciprocal);

// Returns early once its caller has given up.
bool sleep_ms(godwit::Here& here, std::uint32_t ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  while (std::chrono::steady_clock::now() < until) {
    if (here.cancelled()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}
GODWIT_EXPORT(sleep_ms);

// Returns once the file is there, whatever its caller wants; at the latest after a minute.
void hold(godwit::Here&, std::string_view file) {
  const std::string path(file);
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (::access(path.c_str(), F_OK) != 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}
GODWIT_EXPORT(hold);

// As many one-way calls, each of which lasts until the file is there, as it may have; at most
// `calls`.
std::uint32_t one_way_flood(godwit::Here& here, std::string_view file, std::uint32_t calls) {
  for (std::uint32_t i = 0; i < calls; ++i) {
    if (here.one_way<hold>(here.self(), file) != 0) return i;
  }
  return calls;
}
GODWIT_EXPORT(one_way_flood);

// Leaves the file `begun`, and `told` once it has seen that its caller gave up; at the latest after
// a minute it returns without.
void report_cancel(godwit::Here& here, std::string_view begun, std::string_view told) {
  std::ofstream(std::string(begun)).put('\n');
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < until) {
    if (here.cancelled()) {
      std::ofstream(std::string(told)).put('\n');
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}
GODWIT_EXPORT(report_cancel);

// Tries what an inline function may not, and returns why each failed.
std::vector<std::uint32_t> block_inline(godwit::Here& here) {
  std::vector<std::uint32_t> reasons;
  try {
    static_cast<void>(here.call<add_on_pool>(here.self(), 1U, 2U).get());
    reasons.push_back(0);
  } catch (const godwit::CallFailed& failure) {
    reasons.push_back(failure.reason());
  }
  godwit::BuiltCode code;
  reasons.push_back(static_cast<std::uint32_t>(
      here.try_build({.ir = "", .function = "f", .signature = "() -> void"}, code)));
  return reasons;
}
GODWIT_EXPORT(block_inline, inline_);

// Sends this code to a node.
std::int32_t spread_to(godwit::Here& here, std::uint64_t node) {
  return here.spread(godwit::Node{node});
}
GODWIT_EXPORT(spread_to);

godwit::Next<std::vector<std::uint64_t>> tour(godwit::Here& here, std::vector<std::uint64_t> seen,
                                              std::uint32_t hops) {
  seen.push_back(here.self().id);
  if (hops == 0) return seen;
  std::vector<godwit::Node> nodes(64);
  nodes.resize(here.nodes(nodes));
  const godwit::Node next = nodes[(hops - 1) % nodes.size()];
  return here.continue_at<tour>(next, seen, hops - 1);
}
GODWIT_EXPORT(tour);

// Goes to the node, and says where it is.
godwit::Next<std::uint64_t> visit(godwit::Here& here, std::uint64_t node) {
  if (here.self().id == node) return node;
  return here.continue_at<visit>(godwit::Node{node}, node);
}
GODWIT_EXPORT(visit);

// Asks every node for a part and adds the answers up.
std::uint64_t sum_of_fleet(godwit::Here& here, std::uint64_t each) {
  std::vector<godwit::Node> nodes(64);
  nodes.resize(here.nodes(nodes));
  std::vector<godwit::Pending<std::uint64_t>> calls(nodes.size());
  here.fan_out<add_on_pool>(nodes, calls, each, std::uint64_t{0});
  std::uint64_t sum = 0;
  for (auto& call : calls) sum += call.get();
  return sum;
}
GODWIT_EXPORT(sum_of_fleet);

// More calls at once than a function may have.
std::uint64_t too_many(godwit::Here& here, std::uint32_t calls) {
  std::vector<godwit::Pending<std::uint64_t>> pending(calls);
  for (auto& call : pending) {
    call = here.call<add_on_pool>(here.self(), std::uint64_t{1}, std::uint64_t{0});
  }
  std::uint64_t sum = 0;
  for (auto& call : pending) sum += call.get();
  return sum;
}
GODWIT_EXPORT(too_many);

// New code, made where it is needed: a polynomial with its coefficients compiled in.
double build_and_call(godwit::Here& here, double a, double b, double x) {
  const std::string ir =
      "define double @poly(double %x) {\n"
      "  %ax = fmul double %x, " +
      std::to_string(a) +
      "\n"
      "  %y = fadd double %ax, " +
      std::to_string(b) +
      "\n"
      "  ret double %y\n}\n";
  const godwit::BuiltCode code =
      here.build({.ir = ir, .function = "poly", .signature = "(f64) -> f64"});
  std::vector<godwit::Node> nodes(64);
  nodes.resize(here.nodes(nodes));
  return here.call(code.function<double(double)>("poly"), nodes.back(), x).get();
}
GODWIT_EXPORT(build_and_call);

std::uint64_t calls_so_far = 0;
std::uint64_t tick(godwit::Here&) {
  return ++calls_so_far;
}
GODWIT_EXPORT(tick, inline_);

}  // namespace kernels
