#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/fail.hpp"
#include "cli/cell_text.hpp"
#include "cli/command.hpp"
#include "cli/open_graph.hpp"
#include "cli/progress_bar.hpp"
#include "data/graph_builder.hpp"
#include "data/image.hpp"
#include "generate/rmat.hpp"
#include "generate/university.hpp"
#include "ntriples/writer.hpp"

namespace godwit::graph::cli {
namespace {

// Sends its triples to a sink.
using Generator = std::function<Status(TripleSink&)>;

Result<std::uint64_t> write_text(const std::string& path, std::uint64_t expected,
                                 const Generator& generate) {
  GODWIT_TRY(NtriplesWriter writer, NtriplesWriter::create(path));
  ProgressSink sink(writer, expected);
  GODWIT_CHECK(generate(sink));
  GODWIT_CHECK(writer.commit());
  return sink.triples();
}

Result<std::uint64_t> write_graph(const std::string& path, std::uint64_t expected,
                                  const Generator& generate) {
  GraphBuilder builder;
  {
    ProgressSink sink(builder, expected);
    GODWIT_CHECK(generate(sink));
  }
  const Graph graph = std::move(builder).finish();
  GODWIT_CHECK(write_image(graph, path));
  return graph.triples();
}

Ended write(const std::string& path, std::uint64_t expected, const Generator& generate) {
  const bool text = path == "-" || path.ends_with(".nt");
  if (!text && !path.ends_with(".graph")) {
    return failed(Exit::usage, fmt::format("'{}' should end in .nt or .graph, or be - for "
                                           "standard output",
                                           path));
  }
  const Stopwatch watch;
  GODWIT_TRY(const std::uint64_t triples,
             text ? write_text(path, expected, generate) : write_graph(path, expected, generate));
  if (path != "-") {
    fmt::print("{}: {} triples, {:.1f} s\n", path, grouped(triples), watch.seconds());
  }
  return {};
}

void add_output(CLI::App& command, std::string& path) {
  command.add_option("-o,--output", path, "FILE.nt, FILE.graph, or - for standard output")
      ->required();
}

void add_universities(CLI::App& generate, Invocation& invocation) {
  CLI::App& command = add_command(
      generate,
      {.name = "universities",
       .usage = "-o FILE [-n N] [--seed S]",
       .summary = "Universities: departments, people, courses, publications",
       .examples = "graph generate universities -n 10 -o u10.graph",
       .details = "About 100,000 triples each, after the idea of the Lehigh University Benchmark. "
                  "The\nfirst n of n + 1 universities are the same as n."});
  const auto options = std::make_shared<UniversityOptions>();
  const auto path = std::make_shared<std::string>();
  command.add_option("-n,--universities", options->universities, "How many (1)");
  command.add_option("--seed", options->seed, "The same seed gives the same bytes (1)");
  add_output(command, *path);
  command.callback([&invocation, options, path] {
    invocation.command = [options, path] {
      return write(*path, 0,
                   [&](TripleSink& sink) { return generate_universities(*options, sink); });
    };
  });
}

void add_rmat(CLI::App& generate, Invocation& invocation) {
  CLI::App& command =
      add_command(generate, {.name = "rmat",
                             .usage = "-o FILE [--scale N] [--edge-factor N] [--seed S]",
                             .summary = "An R-MAT graph: few vertices with very many edges",
                             .examples = "graph generate rmat --scale 18 -o r18.graph"});
  const auto options = std::make_shared<RmatOptions>();
  const auto path = std::make_shared<std::string>();
  command.add_option("--scale", options->scale, "2^scale vertices (10)");
  command.add_option("--edge-factor", options->edge_factor, "Edges per vertex (16)");
  command.add_option("--seed", options->seed, "The same seed gives the same bytes (1)");
  command.add_option("--a", options->a, "How likely an edge falls into each quarter (0.57)");
  command.add_option("--b", options->b, "(0.19)");
  command.add_option("--c", options->c, "(0.19)");
  command.add_option("--d", options->d, "(0.05); the four add up to 1");
  add_output(command, *path);
  command.callback([&invocation, options, path] {
    invocation.command = [options, path] {
      const std::uint64_t edges =
          (std::uint64_t{1} << (options->scale & 63U)) * options->edge_factor;
      return write(*path, edges, [&](TripleSink& sink) { return generate_rmat(*options, sink); });
    };
  });
}

}  // namespace

void add_generate(CLI::App& root, Invocation& invocation) {
  CLI::App& command =
      add_command(root, {.name = "generate",
                         .usage = "universities|rmat -o FILE [OPTIONS]",
                         .summary = "Make data: universities, or an R-MAT graph",
                         .examples = "graph generate universities -n 10 -o u10.nt\n"
                                     "graph generate rmat --scale 18 -o r18.graph",
                         .details = "`graph generate universities --help` has the options."});
  command.require_subcommand(1);
  add_universities(command, invocation);
  add_rmat(command, invocation);
}

}  // namespace godwit::graph::cli
