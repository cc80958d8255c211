#include "cli/exit.hpp"

namespace godwit::graph::cli {
namespace {

constexpr ExitMeaning kMeanings[] = {
    {Exit::ok, "ok", "it worked"},
    {Exit::failed, "failed", "a defect of this program"},
    {Exit::usage, "usage", "the command line is wrong"},
    {Exit::bad_query, "bad_query", "the query is not one; the message says where"},
    {Exit::file, "file", "a file is missing, or cannot be read or written"},
    {Exit::bad_data, "bad_data", "a file is not N-Triples, or its graph image is damaged"},
    {Exit::unknown, "unknown", "the graph has no such term, or there is no query of that name"},
    {Exit::too_large, "too_large", "more than a limit or this machine's memory allows"},
    {Exit::fleet, "fleet", "the fleet does not answer, or lost a node while it was asked"},
};

}  // namespace

std::span<const ExitMeaning> exit_meanings() {
  return kMeanings;
}

Exit exit_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::none: return Exit::ok;
    case ErrorCode::invalid_argument: return Exit::usage;
    case ErrorCode::not_found:
    case ErrorCode::io:
    case ErrorCode::permission: return Exit::file;
    case ErrorCode::bad_format: return Exit::bad_data;
    case ErrorCode::too_large:
    case ErrorCode::out_of_memory: return Exit::too_large;
    case ErrorCode::unreachable:
    case ErrorCode::handshake_failed:
    case ErrorCode::version_mismatch:
    case ErrorCode::unauthorised:
    case ErrorCode::deadline:
    case ErrorCode::node_lost:
    case ErrorCode::link_lost:
    case ErrorCode::overload:
    case ErrorCode::shutting_down: return Exit::fleet;
    default: return Exit::failed;
  }
}

tl::unexpected<Failed> failed(Exit exit, std::string message) {
  return tl::unexpected(Failed(exit, {ErrorCode::invalid_argument, std::move(message)}));
}

}  // namespace godwit::graph::cli
