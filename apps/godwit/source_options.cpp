#include "source_options.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

namespace godwit::cli {

void SourceOptions::add_to(CLI::App& command) {
  const char* const group = "Compiling";
  command.add_option("-I,--include", include_dirs, "Look for headers here too")
      ->type_name("DIRECTORY")
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("-D,--define", defines, "Define a macro: NAME or NAME=VALUE")
      ->type_name("MACRO")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option(
          "--needs", needs,
          "A library the code needs on the target: as for -l (z), or its soname (libz.so.1)")
      ->type_name("LIBRARY")
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("-O", optimisation_level, "Optimisation of native code, 0 to 3 [2]")
      ->type_name("LEVEL")
      ->check(CLI::Range(0, 3))
      ->group(group);
  command.add_option("--std", standard, "Language standard [c++20, c17]")
      ->type_name("STANDARD")
      ->group(group);
  command.add_flag("--debug", debug_info, "Keep line numbers for debuggers and profilers")
      ->group(group);
  command.add_flag("-v,--verbose", verbose, "Show the compiler's commands")->group(group);
}

code::CompileRequest SourceOptions::request(std::vector<std::string> sources) const {
  code::CompileRequest request;
  request.sources.assign(sources.begin(), sources.end());
  request.include_dirs.assign(include_dirs.begin(), include_dirs.end());
  request.defines = defines;
  request.needs = needs;
  request.optimisation_level = optimisation_level;
  request.debug_info = debug_info;
  if (!standard.empty()) {
    (standard.find("++") != std::string::npos ? request.cpp_standard : request.c_standard) =
        standard;
  }
  const auto say = [](std::string_view text) { fmt::print(stderr, "{}\n", text); };
  request.on_warning = say;
  if (verbose) request.on_command = say;
  return request;
}

bool is_source(const std::string& file) {
  const std::string extension = std::filesystem::path(file).extension().string();
  return extension == ".c" || extension == ".cc" || extension == ".cpp" || extension == ".cxx";
}

tl::expected<code::Bundle, Failed> compile(const code::CompileRequest& request) {
  auto bundle = code::compile(request);
  if (bundle) return *std::move(bundle);
  if (bundle.error().code == ErrorCode::invalid_argument) {
    return tl::unexpected(Failed(Exit::compile_failed, std::move(bundle).error()));
  }
  return tl::unexpected(Failed(std::move(bundle).error()));
}

}  // namespace godwit::cli
