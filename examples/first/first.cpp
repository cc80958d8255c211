// The client of the guide "Your first travelling function": four nodes on this machine, and code
// that none of them has ever seen.
#include <godwit/godwit.hpp>
#include <godwit/mobile/call.hpp>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s kernels.gdw\n", argv[0]);
    return 2;
  }
  auto code = godwit::Bundle::open(argv[1]);
  if (!code) {
    std::fprintf(stderr, "%s\n", code.error().message.c_str());
    return 1;
  }
  auto fleet = godwit::Fleet::local(4);
  if (!fleet) {
    std::fprintf(stderr, "%s\n", fleet.error().message.c_str());
    return 1;
  }
  const auto norm = code->function<double(std::span<const double>)>("norm").value();
  const auto tour =
      code->function<std::vector<std::string>(std::vector<std::string>, std::vector<godwit::Node>)>(
              "tour")
          .value();

  const std::vector<double> samples{3, 4, 12};
  const auto n = norm.on(fleet->node(2))(samples).get();
  if (!n) {
    std::fprintf(stderr, "norm: %s\n", to_string(n.error()).c_str());
    return 1;
  }
  std::printf("the norm, computed on %s: %g\n", fleet->node(2).name().c_str(), *n);

  const std::vector<godwit::Node> rest{
      {fleet->node(3).id()}, {fleet->node(2).id()}, {fleet->node(1).id()}};
  const auto route = tour.on(fleet->node(0))({}, rest).get();
  if (!route) {
    std::fprintf(stderr, "tour: %s\n", to_string(route.error()).c_str());
    return 1;
  }
  std::printf("the tour visited %zu nodes\n", route->size());
  return *n == 13 && route->size() == 4 ? 0 : 1;
}
