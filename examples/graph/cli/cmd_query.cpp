#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "cli/cell_text.hpp"
#include "cli/command.hpp"
#include "cli/fleet_options.hpp"
#include "cli/open_graph.hpp"
#include "command_line/columns.hpp"
#include "fleet/query.hpp"
#include "ntriples/spelling.hpp"
#include "query/evaluate.hpp"
#include "query/named_queries.hpp"
#include "query/parser.hpp"
#include "query/plan.hpp"
#include "trace/json.hpp"

namespace godwit::graph::cli {
namespace {

struct QueryOptions {
  std::string file;
  AskOptions ask;
  std::string query;
  bool csv = false;
  bool count = false;
  bool explain = false;
  std::uint64_t rows = 20;
};

void print_table(const Graph& graph, const Answer& answer, std::uint64_t shown_rows) {
  const Table& table = answer.table;
  const std::uint64_t shown = shown_rows == 0 ? table.rows() : std::min(shown_rows, table.rows());
  godwit::cli::Columns text(table.columns());
  for (std::uint64_t number = 0; number < shown; ++number) {
    std::vector<std::string> cells;
    for (const TermId term : table.row(number)) cells.push_back(show_term(graph, term));
    text.add(std::move(cells));
  }
  fmt::print("{}", text.text());
  if (shown < table.rows()) {
    fmt::print("... and {} more; --rows 0 shows all\n", grouped(table.rows() - shown));
  }
}

void print_csv(const Graph& graph, const Table& table) {
  const auto print_line = [](const std::vector<std::string>& fields) {
    fmt::print("{}\r\n", fmt::join(fields, ","));
  };
  std::vector<std::string> fields;
  for (const std::string& column : table.columns()) fields.push_back(csv_field(column));
  print_line(fields);
  for (std::uint64_t number = 0; number < table.rows(); ++number) {
    fields.clear();
    for (const TermId term : table.row(number)) {
      fields.push_back(csv_field(plain_text(graph.dictionary().spelling(term))));
    }
    print_line(fields);
  }
}

void print_json(const Graph& graph, const Answer& answer, double seconds) {
  trace::Json out;
  out.open('{').field("columns", answer.table.columns());
  out.field("rows_count", answer.table.rows()).field("edges", answer.edges);
  out.key("seconds").raw(fmt::format("{:.6f}", seconds)).key("rows").open('[');
  for (std::uint64_t number = 0; number < answer.table.rows(); ++number) {
    out.open('[');
    for (const TermId term : answer.table.row(number)) {
      out.value(graph.dictionary().spelling(term));
    }
    out.close(']');
  }
  out.close(']').close('}');
  fmt::print("{}\n", out.text());
}

// The text of a query, or of the one of that name.
Outcome<Query> query_from(const std::string& text) {
  std::string_view source = text;
  if (text.find_first_of(" {?") == std::string::npos) {
    const NamedQuery* named = find_named_query(text);
    if (named == nullptr) {
      return failed(Exit::unknown, fmt::format("there is no query '{}'; `graph query --help` lists "
                                               "them",
                                               text));
    }
    source = named->text;
  }
  auto query = parse_query(source);
  if (!query) return tl::unexpected(Failed(Exit::bad_query, query.error()));
  return *std::move(query);
}

struct TimedAnswer {
  Answer answer;  // of the edges that a fleet's nodes look at there is no count
  double seconds = 0;
};
Outcome<TimedAnswer> answer_query(const QueryOptions& options, const Graph& graph,
                                  const Query& query) {
  const Plan plan = make_plan(graph, query);
  if (options.ask.how == How::reference) {
    const Stopwatch watch;
    GODWIT_TRY(Answer answer, evaluate(graph, query, plan));
    return TimedAnswer{std::move(answer), watch.seconds()};
  }
  GODWIT_TRY(const AttachedGraph attached, attach_graph(options.ask, graph));
  const auto ask = options.ask.how == How::travel ? query_by_travel : query_by_pull;
  const Stopwatch watch;
  GODWIT_TRY(Table table, ask(attached.where, graph, query, plan, {}));
  return TimedAnswer{{.table = std::move(table)}, watch.seconds()};
}

Ended run(const QueryOptions& options, bool json) {
  GODWIT_TRY(const Query query, query_from(options.query));
  GODWIT_TRY(const Graph graph, open_graph(options.file));
  if (options.explain) {
    fmt::print("{}", explain(graph, query, make_plan(graph, query)));
    return {};
  }
  GODWIT_TRY(const TimedAnswer timed, answer_query(options, graph, query));
  const auto& [answer, seconds] = timed;
  if (json) {
    print_json(graph, answer, seconds);
  } else if (options.csv) {
    print_csv(graph, answer.table);
  } else if (options.count) {
    fmt::print("{}\n", answer.table.rows());
  } else {
    print_table(graph, answer, options.rows);
    fmt::print("{} rows, ", grouped(answer.table.rows()));
    if (options.ask.how == How::reference)
      fmt::print("{} edges looked at, ", grouped(answer.edges));
    fmt::print("{:.3f} ms\n", seconds * 1e3);
  }
  return {};
}

std::string details() {
  std::string text =
      "QUERY is a name, or text in a small part of SPARQL:\n"
      "\n"
      "  PREFIX ex: <http://a.example/>\n"
      "  SELECT DISTINCT ?x ?y WHERE {\n"
      "    ?x ub:advisor ?y .  ?y a ub:FullProfessor .  ?x ex:age ?age .\n"
      "    FILTER(?age > 30 && ?y != ex:smith)\n"
      "  } LIMIT 10\n"
      "\n"
      "The prefixes ub, rdf and xsd are known. Numbers compare by value, strings by their "
      "characters.\n"
      "\n"
      "Queries over the university data:";
  for (const NamedQuery& query : named_queries()) {
    text += fmt::format("\n  {:<4} {}", query.name, query.about);
  }
  return text;
}

}  // namespace

void add_query(CLI::App& root, Invocation& invocation) {
  const std::string details_text = details();
  CLI::App& command = add_command(
      root,
      {.name = "query",
       .usage = "FILE QUERY [--rows N | --count | --csv | --json | --explain]\n"
                "                   [--how reference|travel|pull --fleet ADDRESS]",
       .summary = "Answer a query and print the rows",
       .examples = "graph query u1.graph q9\n"
                   "graph query u1.graph q2 --explain\n"
                   "graph query u1.graph q9 --fleet local --how travel\n"
                   "graph query u1.graph 'SELECT * WHERE { ?c ub:credits ?n FILTER(?n > 11) }'",
       .details = details_text});
  const auto options = std::make_shared<QueryOptions>();
  command.add_option("FILE", options->file, "The graph: an image or N-Triples")->required();
  command.add_option("QUERY", options->query, "A name, q1 to q10, or the query itself")->required();
  command.add_option("--rows", options->rows, "Show so many rows, 0 for all (20)");
  CLI::Option* count = command.add_flag("--count", options->count, "Print only how many rows");
  CLI::Option* csv = command.add_flag("--csv", options->csv, "All rows, as CSV");
  CLI::Option* plan = command.add_flag("--explain", options->explain, "Print the plan instead");
  add_ask_options(command, options->ask);
  add_json_flag(command, invocation);
  csv->excludes(count)->excludes(plan);
  count->excludes(plan);
  command.callback([&invocation, options] {
    invocation.command = [&invocation, options] { return run(*options, invocation.json); };
  });
}

}  // namespace godwit::graph::cli
