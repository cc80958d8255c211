// Turns LLVM's ways of ending the process into errors. Its readers and code generators trust their
// input: malformed bitcode makes them report and exit, run out of memory, or follow a null pointer.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/Error.h>

#include <optional>
#include <string>

namespace godwit::code::jit {

// Keeps a context's errors and drops its remarks and warnings; without one LLVM prints and exits.
class Diagnostics {
 public:
  explicit Diagnostics(llvm::LLVMContext& context);
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;
  [[nodiscard]] bool failed() const { return !text_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Handler;
  std::string text_;
};

[[nodiscard]] std::string text_of(llvm::Error error);

// Runs work(argument) and says how it died, or nothing. Covered: LLVM's fatal errors, failed
// allocations, and the signals of a crash on this thread; crashes elsewhere take their usual course
// through the handlers that were there before. LLVM's frames have no clean-ups, so after a death
// everything LLVM was working on must be leaked. Any thread; nests.
[[nodiscard]] std::optional<std::string> run_guarded(void (*work)(void*), void* argument);

template <class Work>
[[nodiscard]] std::optional<std::string> fatal_error_of(Work&& work) {
  return run_guarded(
      [](void* callable) { (*static_cast<std::remove_reference_t<Work>*>(callable))(); }, &work);
}

}  // namespace godwit::code::jit
