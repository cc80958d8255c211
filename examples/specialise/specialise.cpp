// Asks a node to specialise a kernel for the coefficients it is given, and prints what that bought.
#include <godwit/godwit.hpp>

#include <cstdio>
#include <vector>

struct Comparison {
  double generic_us = 0;
  double specialised_us = 0;
  double build_us = 0;
  double relative_error = 0;
};
GODWIT_STRUCT(Comparison, generic_us, specialised_us, build_us, relative_error);

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s specialiser.gdw\n", argv[0]);
    return 2;
  }
  auto code = godwit::Bundle::open(argv[1]);
  auto fleet = godwit::Fleet::local(1);
  if (!code || !fleet) {
    std::fprintf(stderr, "%s\n", (code ? fleet.error() : code.error()).message.c_str());
    return 1;
  }
  const auto compare =
      code->function<Comparison(std::span<const double>, std::uint32_t)>("compare").value();
  std::vector<double> coefficients;
  for (int i = 0; i < 24; ++i) coefficients.push_back(1.0 / (1 + i));
  const auto result = compare.on(fleet->node(0))(coefficients, 1U << 17U).get();
  if (!result) {
    std::fprintf(stderr, "compare: %s\n", to_string(result.error()).c_str());
    return 1;
  }
  std::printf("generic loop        %9.0f us\n", result->generic_us);
  std::printf("specialised kernel  %9.0f us, call included (built in %.0f us)\n",
              result->specialised_us, result->build_us);
  std::printf("speed-up            %9.1fx, relative difference %.1e\n",
              result->generic_us / result->specialised_us, result->relative_error);
  return result->relative_error < 1e-9 ? 0 : 1;
}
