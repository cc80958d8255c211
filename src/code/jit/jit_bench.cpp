// What loading bitcode costs: code_jit_bench [--preload]. Prints one line per measurement: the
// median and the least of many, and the first. Run it twice for the cold numbers without and with a
// compiler that was warmed up on an idle thread.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "code/jit/jit.hpp"

namespace godwit::code::jit {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

[[noreturn]] void die(const Error& error) {
  fmt::print(stderr, "{}\n", error.message);
  std::exit(1);  // NOLINT(concurrency-mt-unsafe)
}

template <class T>
T must(Result<T> result) {
  if (!result) die(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

std::string bitcode(const std::string& name) {
  std::ifstream file(std::string(GODWIT_JIT_TESTDATA) + "/" + name + ".bc", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::unique_ptr<Library> load(Jit& jit, const std::string& code, Tier tier) {
  return must(jit.load({.slice = ContentId::of(bytes_of(code)),
                        .code = bytes_of(code),
                        .name = "bench",
                        .needs = {},
                        .tier = tier}));
}

std::uint64_t call(const Library& library, const char* symbol, Bytes arguments) {
  alignas(16) std::array<char, GODWIT_REPLY_CAPACITY> room{};
  godwit_reply reply{room.data(), room.size(), 0, nullptr};
  library.entry(symbol)(nullptr, arguments.data(), arguments.size(), &reply);
  std::uint64_t value = 0;
  std::memcpy(&value, room.data(), sizeof value);
  return value;
}

void report(const std::string& what, std::vector<double> samples_us) {
  const double first = samples_us.front();
  std::nth_element(samples_us.begin(), samples_us.begin() + std::ssize(samples_us) / 2,
                   samples_us.end());
  fmt::print("{:<40} median {:>9.1f} us  least {:>9.1f}  first {:>9.1f}\n", what,
             samples_us[samples_us.size() / 2],
             *std::min_element(samples_us.begin(), samples_us.end()), first);
}

void measure(const std::string& what, int rounds, const std::function<double()>& sample_us) {
  std::vector<double> samples_us;
  for (int i = 0; i < rounds; ++i) samples_us.push_back(sample_us());
  report(what, std::move(samples_us));
}

void measure_loads(Jit& jit, const std::string& name, Tier tier, int rounds) {
  const std::string code = bitcode(name);
  measure(fmt::format("{} {}", name, to_string(tier)), rounds, [&] {
    const auto start = Clock::now();
    const auto library = load(jit, code, tier);
    return microseconds_since(start);
  });
}

void measure_dot(Jit& jit, Tier tier) {
  const auto library = load(jit, bitcode("dot"), tier);
  const std::vector<double> x(4096, 1.5);
  const std::array<std::uint64_t, 3> arguments{reinterpret_cast<std::uint64_t>(x.data()),
                                               reinterpret_cast<std::uint64_t>(x.data()), x.size()};
  measure(fmt::format("call of dot, 4096 doubles, {}", to_string(tier)), 2000, [&] {
    const auto start = Clock::now();
    call(*library, "dot_product", std::as_bytes(std::span(arguments)));
    return microseconds_since(start);
  });
}

int run(bool preload) {
  auto start = Clock::now();
  auto jit = must(open_jit({}));
  report("open the plug-in", {microseconds_since(start)});
  if (preload) {
    start = Clock::now();
    must(jit->warm_up());
    report("warm up", {microseconds_since(start)});
  }
  const std::string add = bitcode("add");
  const std::array<std::uint64_t, 2> arguments{40, 2};
  start = Clock::now();
  if (call(*load(*jit, add, Tier::fast), "add", std::as_bytes(std::span(arguments))) != 42) {
    return 1;
  }
  report("first bitcode in this process, fast", {microseconds_since(start)});

  for (const std::string name : {"add", "add_raw", "dot", "dot_raw"}) {
    measure_loads(*jit, name, Tier::fast, 200);
    measure_loads(*jit, name, Tier::optimised, 50);
  }
  for (const std::string name : {"objects", "objects_raw"}) {
    measure_loads(*jit, name, Tier::fast, 20);
    measure_loads(*jit, name, Tier::optimised, 5);
  }
  std::string pattern = (std::filesystem::temp_directory_path() / "godwit-jit-XXXXXX").string();
  auto cached = must(open_jit({.cache_directory = mkdtemp(pattern.data())}));
  fmt::print("from the cache:\n");
  measure_loads(*cached, "add", Tier::fast, 500);
  measure_loads(*cached, "dot", Tier::optimised, 500);
  measure_loads(*cached, "objects", Tier::fast, 500);
  measure("unload add", 500, [&] {
    auto library = load(*cached, add, Tier::fast);
    const auto begin = Clock::now();
    library.reset();
    return microseconds_since(begin);
  });
  std::filesystem::remove_all(pattern);
  measure_dot(*jit, Tier::fast);
  measure_dot(*jit, Tier::optimised);
  return 0;
}

}  // namespace
}  // namespace godwit::code::jit

int main(int argc, char** argv) {
  return godwit::code::jit::run(argc > 1 && std::strcmp(argv[1], "--preload") == 0);
}
