// Code that makes code: sums a polynomial over many points, first with a loop over its
// coefficients, then with a kernel generated for exactly these coefficients, on a node that has no
// compiler but the JIT. The generated kernel is an ordinary bundle: it is called like any other,
// here or elsewhere.
#include <godwit/mobile.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

struct Comparison {
  double generic_us = 0;
  double specialised_us = 0;  // with the call of the generated function, as its user sees it
  double build_us = 0;
  double relative_error = 0;
};
GODWIT_STRUCT(Comparison, generic_us, specialised_us, build_us, relative_error);

namespace {

double sum_generic(std::span<const double> coefficients, std::span<const double> points) {
  double sum = 0;
  for (const double x : points) {
    double value = 0;
    for (const double c : coefficients) value = value * x + c;
    sum += value;
  }
  return sum;
}

// A double as LLVM IR spells it: every bit.
std::string literal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%016llX",
                static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(value)));
  return text;
}

// Horner's scheme unrolled, with the coefficients as constants.
std::string kernel_for(std::span<const double> coefficients) {
  std::string body;
  std::string value = literal(coefficients.front());
  for (std::size_t i = 1; i < coefficients.size(); ++i) {
    const std::string n = std::to_string(i);
    body += "  %m" + n + " = fmul fast double %x, " + value + "\n";
    body += "  %v" + n + " = fadd fast double %m" + n + ", " + literal(coefficients[i]) + "\n";
    value = "%v" + n;
  }
  return "define double @kernel(ptr %points, i64 %count) {\n"
         "entry:\n"
         "  %empty = icmp eq i64 %count, 0\n"
         "  br i1 %empty, label %done, label %loop\n"
         "loop:\n"
         "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
         "  %sum = phi double [ 0.0, %entry ], [ %total, %loop ]\n"
         "  %at = getelementptr inbounds double, ptr %points, i64 %i\n"
         "  %x = load double, ptr %at, align 8\n" +
         body + "  %total = fadd fast double %sum, " + value +
         "\n"
         "  %next = add nuw i64 %i, 1\n"
         "  %more = icmp ult i64 %next, %count\n"
         "  br i1 %more, label %loop, label %done\n"
         "done:\n"
         "  %result = phi double [ 0.0, %entry ], [ %total, %loop ]\n"
         "  ret double %result\n"
         "}\n";
}

template <class F>
double time_us(F&& f) {
  const auto began = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began)
      .count();
}

}  // namespace

Comparison compare(godwit::Here& here, std::span<const double> coefficients, std::uint32_t count) {
  std::vector<double> points(count);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = std::sin(static_cast<double>(i));
  // Through a pointer the compiler cannot see through: the work may not move out of the timed
  // stretch.
  double (*volatile generic)(std::span<const double>, std::span<const double>) = &sum_generic;
  Comparison result;
  double expected = 0;
  result.generic_us = 1e18;
  for (int i = 0; i < 5; ++i) {
    result.generic_us =
        std::min(result.generic_us, time_us([&] { expected = generic(coefficients, points); }));
  }
  godwit::BuiltCode built;
  result.build_us = time_us([&] {
    const std::string ir = kernel_for(coefficients);
    built = here.build({.ir = ir, .function = "kernel", .signature = "(span<f64>) -> f64"});
  });
  const auto kernel = built.function<double(std::span<const double>)>("kernel");
  double got = 0;
  // The fast tier answers first; calls speed up once the optimised one has replaced it.
  result.specialised_us = 1e18;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < until) {
    const std::span<const double> view(points);
    result.specialised_us = std::min(
        result.specialised_us, time_us([&] { got = here.call(kernel, here.self(), view).get(); }));
  }
  result.relative_error = std::abs(got - expected) / std::max(1.0, std::abs(expected));
  return result;
}
GODWIT_EXPORT(compare);
