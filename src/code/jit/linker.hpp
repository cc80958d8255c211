// An object to code in memory: JITLink, without the ORC session above it. One object is one
// library, resolved against the process alone, so two libraries never see each other's symbols.
#pragma once

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>

#include <memory>
#include <string>
#include <vector>

#include "code/jit/compile.hpp"
#include "code/jit/debugger.hpp"
#include "code/jit/image.hpp"
#include "godwit/error.hpp"

namespace godwit::code::jit {

// Thread-safe. Memory is writable while it is filled and executable afterwards, never both.
class Linker {
 public:
  explicit Linker(std::shared_ptr<PerfMap> perf_map);

  // Maps the object and opens the libraries it needs; runs none of its code. Errors:
  // missing_library, missing_symbol (names all that are), corrupt_code, out_of_memory.
  [[nodiscard]] Result<std::shared_ptr<Image>> link(ObjectBytes object, const std::string& name,
                                                    const std::vector<std::string>& needs);

 private:
  class Context;
  std::shared_ptr<llvm::jitlink::JITLinkMemoryManager> memory_;
  std::shared_ptr<PerfMap> perf_map_;
};

}  // namespace godwit::code::jit
