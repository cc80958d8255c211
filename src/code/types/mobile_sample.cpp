// Mobile code that the tests build with the compiler at hand and call through its entries.
#include <godwit/mobile.hpp>
#include <godwit/mobile/std.hpp>
#include <stdexcept>

std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  return a + b;
}
GODWIT_EXPORT(add, inline_, idempotent);

namespace inner {

double total(godwit::Here& here, std::span<const double> numbers) {
  here.info("adding");
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum;
}
GODWIT_EXPORT(total, idempotent);

std::string repeat(const std::string& text, std::uint32_t times) {
  std::string out;
  for (std::uint32_t i = 0; i < times; ++i) out += text;
  return out;
}
GODWIT_EXPORT(repeat);

}  // namespace inner

void nothing() noexcept {}
GODWIT_EXPORT(nothing, inline_);

std::uint32_t fails(std::uint32_t how) {
  if (how == 1) throw std::runtime_error("went wrong");
  if (how == 2) throw 7;
  if (how == 3) throw std::runtime_error(std::string(2000, 'e'));
  return how;
}
GODWIT_EXPORT(fails);

// Travels until no hop is left; used before it is exported.
godwit::Next<std::uint64_t> chase(godwit::Here& here, std::uint64_t at, std::uint32_t hops) {
  if (hops == 0) return at;
  return here.continue_at<chase>(godwit::Node{at + 1}, at + 1, hops - 1);
}
GODWIT_EXPORT(chase);

godwit::Next<void> wander(godwit::Here& here, bool on) {
  if (on) return here.continue_at<wander>(here.self(), false);
  return {};
}
GODWIT_EXPORT(wander);

// Adds on every node of the fleet and joins.
std::uint64_t gather(godwit::Here& here, std::uint64_t each) {
  godwit::Node nodes[8];
  godwit::Pending<std::uint64_t> calls[8];
  std::uint64_t sums[8] = {};
  const std::size_t count = here.nodes(nodes);
  here.fan_out<add>(std::span(nodes).first(count), std::span(calls).first(count), each,
                    std::uint64_t{1});
  godwit::join(std::span(calls).first(count), std::span(sums).first(count));
  std::uint64_t sum = 0;
  for (const std::uint64_t value : sums) sum += value;
  return sum;
}
GODWIT_EXPORT(gather);

std::string describe_failure(godwit::Here& here, std::uint32_t how) {
  auto call = here.call<fails>(here.self(), how);
  const auto outcome = call.outcome();
  if (outcome) return "ok " + std::to_string(outcome.value);
  std::string text = std::to_string(outcome.ending) + " " + std::string(outcome.message);
  try {
    call.get();
  } catch (const godwit::CallFailed& failed) {
    text += std::string(", thrown ") + failed.what();
  }
  return text;
}
GODWIT_EXPORT(describe_failure);

double specialise(godwit::Here& here, double x) {
  const godwit::BuiltCode built =
      here.build({.ir = "define double @twice", .function = "twice", .signature = "(f64) -> f64"});
  auto [first, second] = [&] {
    auto a = here.call(built.function<double(double)>("twice"), here.self(), x);
    auto b = here.call<inner::repeat>(here.self(), "ab", 2U);
    return godwit::join(a, b);
  }();
  return first + static_cast<double>(second.size());
}
GODWIT_EXPORT(specialise);
