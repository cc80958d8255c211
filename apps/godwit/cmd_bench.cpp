#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/fail.hpp"
#include "command.hpp"

namespace godwit::cli {
namespace {

// Measuring is a program of its own, so that its libraries do not weigh on every node.
Ended bench(std::vector<std::string> words) {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::string program = (self.parent_path() / "godwit-bench").string();
  words.insert(words.begin(), program);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  return tl::unexpected(
      Failed(Exit::bad_file,
             {ErrorCode::not_found, fmt::format("cannot run '{}': {}; it is built with "
                                                "-DGODWIT_BUILD_BENCH=ON and lies beside godwit",
                                                program, errno_text(errno))}));
}

}  // namespace

void add_bench(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "bench",
             .usage = "[ARGUMENTS of godwit-bench]",
             .summary = "Measure calls on this machine, each beside its floor (runs godwit-bench)",
             .examples = "godwit bench\ngodwit bench --help"});
  command.set_help_flag();
  command.prefix_command();
  command.callback([&command, &invocation] {
    invocation.takes_words = true;
    invocation.command = [&command, &invocation] {
      std::vector<std::string> words = command.remaining();
      words.insert(words.end(), invocation.words.begin(), invocation.words.end());
      return bench(std::move(words));
    };
  });
}

}  // namespace godwit::cli
