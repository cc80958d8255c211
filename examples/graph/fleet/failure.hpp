// How a call's failure reads to whoever asked the graph.
#pragma once

#include <string_view>

#include "base/fail.hpp"
#include "godwit/outcome.hpp"

namespace godwit::graph {

// A lost node is one, however it was noticed; and with it a part of the graph.
inline tl::unexpected<Error> failed(std::string_view what, const Failure& failure) {
  if (failure.ending != Ending::node_lost && !says_gone(failure.reason)) {
    return fail(failure.reason, "{}: {}", what, to_string(failure));
  }
  return fail(ErrorCode::node_lost, "{}: {}; a part of the graph is lost: load it again", what,
              to_string(failure));
}

}  // namespace godwit::graph
