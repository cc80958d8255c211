// Programs as `godwit ranks` starts them.
//
//   rank_program_for_test                   every rank sends its number to all, and prints the sum
//   rank_program_for_test transport FOLDER MOMENT VICTIM [THREADS]
//
// The second saves what it has to FOLDER after every third round, goes on from what it finds there,
// and prints what it has summed up, to the bit. The first time that it is started, rank VICTIM is
// killed at a moment (kernel, fold, save) chosen by its number; if VICTIM is "none", nobody is.
// With THREADS, these are the ranks.
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forward/transport_for_test.hpp"

namespace {

using namespace godwit;
using Moment = forward::TransportOptions::Moment;

struct Number {
  std::int64_t value = 0;
};

Status sum_numbers() {
  GODWIT_TRY(Group group, Group::from_environment());
  GODWIT_TRY(auto exchange, Exchange<Number>::create(group));
  for (Rank rank = 0; rank < group.ranks(); ++rank) {
    exchange.emit(Number{group.rank() + 1}, rank);
  }
  GODWIT_CHECK(exchange.advance());
  std::int64_t sum = 0;
  for (const Number& number : exchange.incoming<Number>()) sum += number.value;
  std::printf("sum %lld\n", static_cast<long long>(sum));
  return {};
}

Status transport_as(Group& group, std::span<const std::string_view> words) {
  forward::TransportOptions options{.folder = std::string(words[0]), .every = 3, .steps = 15};
  const char* const restarted = std::getenv("GODWIT_RESTARTED");
  const bool is_first = restarted == nullptr || std::string_view(restarted) == "0";
  if (is_first && words[2] == std::to_string(group.rank())) {
    // Somewhere in the middle: after some checkpoints, or some hundred items.
    const bool saves = words[1] == "save";
    const Moment moment = saves                  ? Moment::save
                          : words[1] == "kernel" ? Moment::kernel
                                                 : Moment::fold;
    const int after = saves ? 4 : 500;
    options.at = [=, seen = 0](Moment now) mutable {
      if (now == moment && ++seen == after) ::kill(::getpid(), SIGKILL);
    };
  }
  GODWIT_TRY(const forward::TransportTally tally, forward::transport(group, options));
  std::printf("rank %d: %s\n", group.rank(), tally.text().c_str());
  return {};
}

Status run(std::span<const std::string_view> words) {
  if (words.empty()) return sum_numbers();
  const auto body = [&](Group& group) { return transport_as(group, words.subspan(1)); };
  if (words.size() == 5) {
    Rank threads = 1;
    std::from_chars(words[4].data(), words[4].data() + words[4].size(), threads);
    return run_ranks(threads, body);
  }
  GODWIT_TRY(Group group, Group::from_environment());
  return body(group);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const Status done = run(words);
  if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return exit_code(done);
}
