// Turns LLVM's "report and exit" into errors.
#pragma once

#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/Error.h>

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace godwit::code::jit {

// Thrown out of LLVM by its fatal error handler. LLVM's frames have no clean-ups, so what it was
// working on (context, module, target machine) is leaked, not reused.
struct FatalLlvmError : std::exception {
  std::string message;
};

// While one exists on a thread, a fatal error of LLVM on that thread is thrown as FatalLlvmError
// instead of ending the process. Errors on other threads keep LLVM's behaviour.
class FatalGuard {
 public:
  FatalGuard();
  ~FatalGuard();
  FatalGuard(const FatalGuard&) = delete;
  FatalGuard& operator=(const FatalGuard&) = delete;
};

// Keeps a context's errors and drops its remarks and warnings; without one LLVM prints and exits.
class Diagnostics {
 public:
  explicit Diagnostics(llvm::LLVMContext& context);
  [[nodiscard]] bool failed() const { return !text_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Handler;
  std::string text_;
};

[[nodiscard]] std::string text_of(llvm::Error error);

// Runs `work` and gives the words of the fatal error that ended it, or nothing. After a fatal error
// whatever LLVM was working on must be leaked: its state is anybody's guess.
template <class Work>
[[nodiscard]] std::optional<std::string> fatal_error_of(Work&& work) {
  const FatalGuard guard;
  try {
    std::forward<Work>(work)();
    return std::nullopt;
  } catch (const FatalLlvmError& error) {
    return error.message;
  } catch (const std::bad_alloc&) {
    return "out of memory";
  }
}

}  // namespace godwit::code::jit
