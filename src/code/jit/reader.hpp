// Bytes from elsewhere to a verified LLVM module.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "code/jit/guard.hpp"
#include "code/jit/host.hpp"
#include "godwit/error.hpp"

namespace godwit::code::jit {

inline constexpr std::size_t kMaxIrBytes = std::size_t{256} << 20;

// A module and what it lives in. Used by one thread at a time.
struct Unit {
  llvm::LLVMContext context;
  Diagnostics diagnostics{context};
  std::unique_ptr<llvm::Module> module;
  // LLVM failed fatally while it worked on this: freeing it could crash, so it is leaked.
  bool abandoned = false;
};
struct UnitDeleter {
  void operator()(Unit* unit) const {
    if (!unit->abandoned) delete unit;
  }
};
using UnitPtr = std::unique_ptr<Unit, UnitDeleter>;

// A slice: bitcode for this machine, or no_slice (another machine, a later LLVM) or corrupt_code.
// `name` is for people.
[[nodiscard]] Result<UnitPtr> read_slice(Bytes bitcode, const std::string& name, const Host& host);

// IR made at run time: text or bitcode, which need not name a machine.
[[nodiscard]] Result<UnitPtr> read_ir(Bytes ir, const std::string& name, const Host& host);

}  // namespace godwit::code::jit
