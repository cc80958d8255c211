// How a call's failure reads to whoever asked the graph.
#pragma once

#include <string_view>

#include "base/fail.hpp"
#include "godwit/outcome.hpp"

namespace godwit::graph {

// A lost node is one, however it was noticed; and with it a part of the graph.
inline tl::unexpected<Error> failed(std::string_view what, const Error& error) {
  if (!says_gone(error.code)) return fail(error.code, "{}: {}", what, error.message);
  return fail(ErrorCode::node_lost, "{}: {}; a part of the graph is lost: load it again", what,
              error.message);
}
inline tl::unexpected<Error> failed(std::string_view what, const Failure& failure) {
  const bool is_lost = failure.ending == Ending::node_lost;
  return failed(what, Error{is_lost ? ErrorCode::node_lost : failure.reason, to_string(failure)});
}

}  // namespace godwit::graph
