// How the engine gets a link to a node it has none to.
#pragma once

#include "base/ids.hpp"
#include "godwit/error.hpp"

namespace godwit::call {

class Port;

// Finds a way to a node. Implemented by node/ over the fleet's directory.
class Dialer {
 public:
  struct Dialled {
    Port* port = nullptr;
    LinkId link;
  };
  virtual ~Dialer() = default;
  // Starts a link to the node's attempt-th address, counted from 0. not_found: there are no more.
  [[nodiscard]] virtual Result<Dialled> dial(NodeId node, unsigned attempt) = 0;
  // Whether this process has heard of the node, be it dead by now. If not, news of it may be on its
  // way.
  [[nodiscard]] virtual bool knows(NodeId node) const = 0;
  // A call waits for news of that node: asks for them, rather than to wait until they come.
  virtual void seek(NodeId node) = 0;
};

}  // namespace godwit::call
