// Functions that take, resolve and make objects, for ref_calls_test.cpp.
#include <godwit/mobile.hpp>

#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

namespace refs {

struct Point {
  double x = 0;
  double y = 0;
};
GODWIT_STRUCT(Point, x, y);

using Numbers = godwit::HandleOf<std::uint64_t[]>;

static std::uint64_t total(std::span<const std::uint64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

// By value, as far as the function knows.
std::uint64_t sum(godwit::Here&, std::span<const std::uint64_t> values) {
  return total(values);
}
GODWIT_EXPORT(sum);

std::uint64_t sum_inline(std::span<const std::uint64_t> values) {
  return total(values);
}
GODWIT_EXPORT(sum_inline, inline_);

// Several of them beside other arguments, and where the function runs.
std::uint64_t mix(godwit::Here& here, std::string_view name, std::span<const std::uint64_t> a,
                  std::uint64_t factor, std::span<const std::uint64_t> b,
                  std::span<const std::byte> rest) {
  return here.self() ? name.size() + total(a) + factor * total(b) + rest.size() : 0;
}
GODWIT_EXPORT(mix);

// Where the elements lie: at the home nothing is copied, so it is the same each time.
std::uint64_t address_of(std::span<const std::uint64_t> values) {
  return reinterpret_cast<std::uintptr_t>(values.data());
}
GODWIT_EXPORT(address_of);

// Handles, resolved by the function itself.
std::uint64_t sum_of(godwit::Here& here, Numbers values) {
  return total(here.resolve(values));
}
GODWIT_EXPORT(sum_of);

std::uint64_t sum_of_inline(godwit::Here& here, Numbers values) {
  return total(here.resolve(values));
}
GODWIT_EXPORT(sum_of_inline, inline_);

std::int32_t try_sum_of(godwit::Here& here, Numbers values) {
  std::span<const std::uint64_t> found;
  return here.try_resolve(values, found);
}
GODWIT_EXPORT(try_sum_of);

double height(godwit::Here& here, godwit::HandleOf<Point> point) {
  return here.resolve(point).y;
}
GODWIT_EXPORT(height);

// New objects, of the node that it runs on.
Numbers doubled(godwit::Here& here, std::span<const std::uint64_t> values) {
  static thread_local std::uint64_t twice[100'000];
  const std::size_t count = values.size() < 100'000 ? values.size() : 100'000;
  for (std::size_t i = 0; i < count; ++i) twice[i] = 2 * values[i];
  return here.put(std::span<const std::uint64_t>(twice, count));
}
GODWIT_EXPORT(doubled);

godwit::HandleOf<Point> point(godwit::Here& here, double x, double y) {
  return here.put(Point{x, y}, {.lifetime = GODWIT_LIVES_FOR_READERS, .readers = 1});
}
GODWIT_EXPORT(point);

// A handle that claims to be of another type than its object is.
godwit::HandleOf<double[]> disguised(Numbers values) {
  return std::bit_cast<godwit::HandleOf<double[]>>(values);
}
GODWIT_EXPORT(disguised);

double sum_of_doubles(godwit::Here& here, godwit::HandleOf<double[]> values) {
  const std::span<const double> found = here.resolve(values);
  return std::accumulate(found.begin(), found.end(), 0.0);
}
GODWIT_EXPORT(sum_of_doubles);

// On to the home of its argument, and there without a copy.
godwit::Next<std::uint64_t> sum_at_home(godwit::Here& here, Numbers values) {
  if (here.self() != values.node()) {
    return here.continue_at(godwit::function_ref<&sum_of>, values.node(), values);
  }
  return total(here.resolve(values));
}
GODWIT_EXPORT(sum_at_home);

// Each returns 0, or the error that the node said.
std::uint64_t keep(godwit::Here& here, Numbers promised, std::span<const std::uint64_t> values) {
  return static_cast<std::uint64_t>(here.try_fulfil(promised, values));
}
GODWIT_EXPORT(keep);

std::uint64_t keep_inline(godwit::Here& here, Numbers promised,
                          std::span<const std::uint64_t> values) {
  return static_cast<std::uint64_t>(here.try_fulfil(promised, values));
}
GODWIT_EXPORT(keep_inline, inline_);

std::uint64_t keep_double(godwit::Here& here, godwit::HandleOf<double> promised, double value) {
  return static_cast<std::uint64_t>(here.try_fulfil(promised, value));
}
GODWIT_EXPORT(keep_double);

std::uint64_t give_up(godwit::Here& here, Numbers promised, std::string_view why) {
  constexpr std::int32_t kIo = 103;
  return static_cast<std::uint64_t>(here.try_break_promise(promised, kIo, why));
}
GODWIT_EXPORT(give_up);

Numbers add_to_all(godwit::Here& here, Numbers values, std::uint64_t more) {
  const std::span<const std::uint64_t> all = here.resolve(values);
  std::vector<std::uint64_t> next(all.begin(), all.end());
  for (std::uint64_t& value : next) value += more;
  return here.update(values, next);
}
GODWIT_EXPORT(add_to_all);

}  // namespace refs
