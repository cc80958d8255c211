// Knows Godwit only as installed: headers, library, executable. Injects a function into a node.
#include <cstdio>

#include <godwit/godwit.hpp>

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
  auto fleet = godwit::Fleet::local(1);
  if (!fleet) {
    std::fprintf(stderr, "%s\n", fleet.error().message.c_str());
    return 1;
  }
  const auto add = code->function<std::uint64_t(std::uint64_t, std::uint64_t)>("add").value();
  const auto sum = add.on(fleet->node(0))(2, 3).get();
  if (!sum) {
    std::fprintf(stderr, "add: %s\n", to_string(sum.error()).c_str());
    return 1;
  }
  std::printf("node %s says: 2 + 3 = %d\n", fleet->node(0).name().c_str(), static_cast<int>(*sum));
  return *sum == 5 ? 0 : 1;
}
