#include "common/command_line.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace gallery {

CommandLine::CommandLine(const std::string& name, const std::string& about)
    : app_(std::make_unique<CLI::App>(about, name)) {}
CommandLine::~CommandLine() = default;

void CommandLine::add(const std::string& option, int& value, const std::string& help, Range range) {
  app_->add_option(option, value, help)
      ->check(CLI::Range(range.low, range.high))
      ->capture_default_str();
}
void CommandLine::add(const std::string& option, std::string& value, const std::string& help) {
  app_->add_option(option, value, help)->capture_default_str();
}
void CommandLine::add(const std::string& flag, bool& value, const std::string& help) {
  app_->add_flag(flag, value, help);
}

int CommandLine::run(int argc, char** argv, const std::function<void()>& body) {
  try {
    app_->parse(argc, argv);
    body();
    return EXIT_SUCCESS;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", app_->get_name().c_str(), error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace gallery
