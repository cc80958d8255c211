// How mobile code makes new code.
#pragma once

#include <string_view>

#include "base/bytes.hpp"
#include "code/bundle/bundle.hpp"
#include "godwit/error.hpp"

namespace godwit::call {

// Makes bundles on this node, out of IR. Thread-safe; may take long.
class Builder {
 public:
  virtual ~Builder() = default;
  [[nodiscard]] virtual Result<code::Bundle> build(Bytes ir, std::string_view function,
                                                   std::string_view signature) = 0;
};

}  // namespace godwit::call
