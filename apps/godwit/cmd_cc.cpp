#include <fmt/format.h>

#include <filesystem>

#include "base/fail.hpp"
#include "command.hpp"
#include "source_options.hpp"
#include "trace/json.hpp"

namespace godwit::cli {
namespace {

struct CcOptions {
  std::vector<std::string> sources;
  std::string output;
  std::string name;
  std::vector<std::string> targets;
  std::vector<std::string> kinds;
  std::string clang;
  bool keep_temporaries = false;
  SourceOptions source;
};

tl::expected<code::CompileRequest, Failed> request_of(const CcOptions& options,
                                                      const std::vector<std::string>& flags) {
  code::CompileRequest request = options.source.request(options.sources);
  request.name = options.name;
  request.flags = flags;
  request.clang = options.clang;
  request.keep_temporaries = options.keep_temporaries;
  if (options.keep_temporaries && !request.on_command) {
    request.on_command = [](std::string_view text) { fmt::print(stderr, "{}\n", text); };
  }
  if (!options.targets.empty()) request.targets.clear();
  for (const std::string& target : options.targets) {
    const auto machine = code::parse_machine(target);
    if (!machine) {
      return tl::unexpected(
          usage(fmt::format("--target {}: unknown machine; there are x86_64 and aarch64", target)));
    }
    request.targets.push_back(*machine);
  }
  if (!options.kinds.empty()) request.kinds.clear();
  for (const std::string& kind : options.kinds) {
    request.kinds.push_back(kind == "native" ? code::SliceKind::native : code::SliceKind::bitcode);
  }
  return request;
}

Ended cc(const CcOptions& options, const Invocation& invocation) {
  GODWIT_TRY(const code::CompileRequest request, request_of(options, invocation.words));
  GODWIT_TRY(const code::Bundle bundle, cli::compile(request));
  const std::string output =
      options.output.empty()
          ? std::filesystem::path(options.sources.front()).replace_extension(".gdw").string()
          : options.output;
  GODWIT_CHECK(bundle.write(output));
  if (invocation.json) {
    trace::Json out;
    out.open('{').field("file", output).field("id", bundle.id().hex());
    out.field("functions", bundle.functions().size()).field("slices", bundle.slices().size());
    fmt::print("{}\n", out.close('}').text());
  }
  return {};
}

}  // namespace

void add_cc(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "cc",
             .usage = "SOURCES... [-o FILE.gdw] [OPTIONS] [-- FLAGS for clang]",
             .summary = "Compile C and C++ sources into a bundle for every kind of node",
             .examples = "godwit cc kernels.cpp -o kernels.gdw\n"
                         "godwit cc a.cpp b.c -Iinclude -DFAST --needs z -o both.gdw\n"
                         "godwit cc kernels.cpp --target x86_64 --kind bitcode -- -ffast-math"});
  const auto options = std::make_shared<CcOptions>();
  command.add_option("SOURCES", options->sources, "Files: .c is C; .cc, .cpp, .cxx are C++")
      ->required();
  command.add_option("-o,--output", options->output, "The bundle [first source, as .gdw]")
      ->type_name("FILE");
  command.add_option("--name", options->name, "What to call the bundle [first source's name]")
      ->type_name("NAME");
  command.add_option("--target", options->targets, "A machine to compile for [x86_64, aarch64]")
      ->type_name("MACHINE")
      ->allow_extra_args(false);
  command.add_option("--kind", options->kinds, "A kind of code to make [native, bitcode]")
      ->type_name("KIND")
      ->check(CLI::IsMember({"native", "bitcode"}))
      ->allow_extra_args(false);
  command.add_option("--clang", options->clang, "The compiler [$GODWIT_CLANG, clang++-19]")
      ->type_name("PROGRAM");
  command.add_flag("--keep-temps", options->keep_temporaries,
                   "Keep intermediate files, and show the commands that name them");
  options->source.add_to(command);
  add_json_flag(command, invocation);
  command.callback([&invocation, options] {
    invocation.takes_words = true;
    invocation.command = [&invocation, options] { return cc(*options, invocation); };
  });
}

}  // namespace godwit::cli
