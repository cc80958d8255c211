// A node: the runtime with everything that serving takes.
#pragma once

#include <memory>

#include "code/native/runtime_directory.hpp"
#include "node/runtime.hpp"
#include "node/settings.hpp"
#include "trace/log.hpp"

namespace godwit::node {

class Node {
 public:
  // Starts serving; the node runs until it is destroyed. The log outlives it. Errors name the
  // setting they come from.
  [[nodiscard]] static Result<std::unique_ptr<Node>> start(const Settings& settings,
                                                           trace::Log& log);
  ~Node();

  [[nodiscard]] Runtime& runtime() { return *runtime_; }

 private:
  Node();
  class Code;  // loaders and builder
  std::unique_ptr<Code> code_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace godwit::node
