// A program as `godwit ranks` starts it: every rank sends its number to all, and prints the sum.
#include <cstdio>
#include <cstdlib>

#include "base/fail.hpp"
#include "godwit/exchange.hpp"

namespace {

struct Number {
  std::int64_t value = 0;
};

godwit::Status run() {
  GODWIT_TRY(godwit::Group group, godwit::Group::from_environment());
  GODWIT_TRY(auto exchange, godwit::Exchange<Number>::create(group));
  for (godwit::Rank rank = 0; rank < group.ranks(); ++rank) {
    exchange.emit(Number{group.rank() + 1}, rank);
  }
  GODWIT_CHECK(exchange.advance());
  std::int64_t sum = 0;
  for (const Number& number : exchange.incoming<Number>()) sum += number.value;
  std::printf("sum %lld\n", static_cast<long long>(sum));
  return {};
}

}  // namespace

int main() {
  const godwit::Status done = run();
  if (done) return EXIT_SUCCESS;
  std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return EXIT_FAILURE;
}
