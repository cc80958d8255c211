#include "code/jit/guard.hpp"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <mutex>

namespace godwit::code::jit {
namespace {

thread_local int guards_on_this_thread = 0;

void on_fatal_error(void* /*unused*/, const char* reason, bool /*crash_report*/) {
  if (guards_on_this_thread == 0) return;  // LLVM goes on to end the process
  FatalLlvmError error;
  error.message = reason;
  throw error;  // NOLINT(hicpp-exception-baseclass)
}

constexpr std::size_t kMaxDiagnosticBytes = 4096;

}  // namespace

FatalGuard::FatalGuard() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(on_fatal_error);
    llvm::install_bad_alloc_error_handler(on_fatal_error);  // a lying length asks for terabytes
  });
  ++guards_on_this_thread;
}

FatalGuard::~FatalGuard() {
  --guards_on_this_thread;
}

struct Diagnostics::Handler : llvm::DiagnosticHandler {
  explicit Handler(std::string& text) : text_(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error || text_.size() > kMaxDiagnosticBytes) return true;
    llvm::raw_string_ostream stream(text_);
    if (!text_.empty()) stream << "; ";
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
  std::string& text_;
};

Diagnostics::Diagnostics(llvm::LLVMContext& context) {
  context.setDiagnosticHandler(std::make_unique<Handler>(text_));
}

std::string text_of(llvm::Error error) {
  return llvm::toString(std::move(error));
}

}  // namespace godwit::code::jit
