#include <fmt/format.h>

#include "base/fail.hpp"
#include "command.hpp"
#include "godwit/group.hpp"
#include "rank_launcher.hpp"

namespace godwit::cli {
namespace {

constexpr std::string_view kRanksDetails =
    "Starts N processes of PROGRAM on this machine, as ranks 0 to N - 1 of one group: what\n"
    "godwit::Group::from_environment() joins. They find each other through GODWIT_RANK, "
    "GODWIT_RANKS\n"
    "and GODWIT_MEET. Ctrl-C and SIGTERM reach all of them. When one fails, the others are ended, "
    "and\n"
    "the exit code is that of the first that failed, or 128 and the number of its signal.\n"
    "With --restarts, a rank that a signal ended, or that ended with 15 (node_lost), is no end: "
    "all\n"
    "are started again, and a program that saves its items goes on from its last checkpoint\n"
    "(godwit::Exchange::resume). GODWIT_RESTARTED says how often that was.";

constexpr int kMaxRestarts = 1'000'000;

// Without "--" the program is the first word that is no option of ours; a "--" after it is its own.
Result<std::vector<std::string>> program_of(const CLI::App& command, const Invocation& invocation) {
  std::vector<std::string> words = command.remaining();
  if (!words.empty() && words.front().starts_with('-')) {
    return fail(ErrorCode::invalid_argument,
                "there is no option '{}'; what is the program's goes after its name",
                words.front());
  }
  if (!words.empty() && !invocation.words.empty()) words.emplace_back("--");
  words.insert(words.end(), invocation.words.begin(), invocation.words.end());
  if (words.empty()) {
    return fail(ErrorCode::invalid_argument, "which program? `godwit ranks {} PROGRAM`",
                command["N"]->as<std::string>());
  }
  return words;
}

}  // namespace

void add_ranks(CLI::App& root, Invocation& invocation) {
  CLI::App& command =
      add_command(root, {.name = "ranks",
                         .usage = "N [--label] [--restarts K] [--] PROGRAM [ARGUMENT...]",
                         .summary = "Run a program as the ranks of a group, one process each",
                         .examples = "godwit ranks 4 ./streamlines --seeds 10000\n"
                                     "godwit ranks 4 --restarts 3 ./transport --save saved\n"
                                     "godwit ranks 2 --label -- python3 walk.py",
                         .details = kRanksDetails});
  const auto options = std::make_shared<LaunchOptions>();
  command.add_option("N", options->ranks, "How many")
      ->required()
      ->check(CLI::Range(Rank{1}, Group::kMaxRanks));
  command.add_flag("--label", options->label, "Begin every line of output with its rank");
  command
      .add_option("--restarts", options->restarts,
                  "How often all are started again after a rank was lost")
      ->check(CLI::Range(0, kMaxRestarts));
  command.prefix_command();
  command.callback([&invocation, &command, options] {
    invocation.takes_words = true;
    invocation.command = [&invocation, &command, options]() -> Ended {
      auto program = program_of(command, invocation);
      if (!program) return tl::unexpected(Failed(Exit::usage, program.error()));
      options->program = *std::move(program);
      return launch_ranks(*options);
    };
  });
}

}  // namespace godwit::cli
