// What `cc` and `run` can be told about compiling sources.
#pragma once

#include <CLI/App.hpp>

#include <string>
#include <vector>

#include "code/toolchain/compile.hpp"
#include "exit.hpp"

namespace godwit::cli {

struct SourceOptions {
  std::vector<std::string> include_dirs;
  std::vector<std::string> defines;
  std::vector<std::string> needs;
  unsigned optimisation_level = 2;
  std::string standard;
  bool debug_info = false;
  bool verbose = false;

  // `command` and this object outlive the parsing.
  void add_to(CLI::App& command);
  // The request as far as these options say; warnings go to standard error.
  [[nodiscard]] code::CompileRequest request(std::vector<std::string> sources) const;
};

// Whether a file's name is that of a source: .c, .cc, .cpp or .cxx.
[[nodiscard]] bool is_source(const std::string& file);

// Compiles; errors that lie in the sources end as Exit::compile_failed.
[[nodiscard]] tl::expected<code::Bundle, Failed> compile(const code::CompileRequest& request);

}  // namespace godwit::cli
