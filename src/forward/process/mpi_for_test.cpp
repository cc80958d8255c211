// Run by mpiexec: the ranks of an MPI program exchange items, with MPI beside them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/fail.hpp"
#include "godwit/exchange.hpp"
#include "godwit/mpi.hpp"

namespace {

struct Number {
  std::int64_t value = 0;
};

godwit::Status run() {
  GODWIT_TRY(godwit::Group group, godwit::group_of(MPI_COMM_WORLD));
  GODWIT_TRY(auto exchange, godwit::Exchange<Number>::create(group));
  for (godwit::Rank rank = 0; rank < group.ranks(); ++rank) {
    exchange.emit(Number{group.rank() + 1}, rank);
  }
  GODWIT_CHECK(exchange.advance());
  std::int64_t sum = 0;
  for (const Number& number : exchange.incoming<Number>()) sum += number.value;
  std::int64_t expected = group.rank() + 1;
  MPI_Allreduce(MPI_IN_PLACE, &expected, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (sum == expected) return {};
  return godwit::fail(godwit::ErrorCode::internal, "rank {} got {} and not {}", group.rank(), sum,
                      expected);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const godwit::Status done = run();
  if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  MPI_Finalize();
  return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
