#include "code/jit/guard.hpp"

#include <fmt/format.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/sanitizers.hpp"

namespace godwit::code::jit {
namespace {

constexpr std::size_t kMaxDiagnosticBytes = 4096;
constexpr std::size_t kSignalStackBytes = 64 * 1024;
constexpr std::array<int, 4> kCrashSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

struct FatalLlvmError : std::exception {
  std::string message;
};

// Where this thread goes on after a crash; null outside of run_guarded().
thread_local sigjmp_buf* recovery = nullptr;

std::array<struct sigaction, kCrashSignals.size()> previous_actions;

void on_fatal_error(void* /*unused*/, const char* reason, bool /*crash_report*/) {
  if (recovery == nullptr) return;  // LLVM goes on to end the process
  FatalLlvmError error;
  error.message = reason;
  throw error;
}

void on_crash(int signal, siginfo_t* info, void* context) {
  if (recovery != nullptr) siglongjmp(*recovery, signal);
  for (std::size_t i = 0; i < kCrashSignals.size(); ++i) {
    if (kCrashSignals[i] != signal) continue;
    const struct sigaction& previous = previous_actions[i];
    if ((previous.sa_flags & SA_SIGINFO) != 0) {
      previous.sa_sigaction(signal, info, context);
    } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
      sigaction(signal, &previous, nullptr);  // and the instruction crashes again
    } else {
      previous.sa_handler(signal);
    }
  }
}

void install_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(on_fatal_error);
    llvm::install_bad_alloc_error_handler(on_fatal_error);  // a lying length asks for terabytes
    struct sigaction action{};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kCrashSignals.size(); ++i) {
      sigaction(kCrashSignals[i], &action, &previous_actions[i]);
    }
  });
}

// Deeply nested input overflows the stack: the handler needs one of its own.
class SignalStack {
 public:
  SignalStack() {
    stack_t current{};
    if (sigaltstack(nullptr, &current) != 0 || (current.ss_flags & SS_DISABLE) == 0) return;
    memory_ = mmap(nullptr, kSignalStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    if (memory_ == MAP_FAILED) return;
    const stack_t stack{.ss_sp = memory_, .ss_flags = 0, .ss_size = kSignalStackBytes};
    sigaltstack(&stack, nullptr);
  }
  ~SignalStack() {
    if (memory_ == MAP_FAILED) return;
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
    munmap(memory_, kSignalStackBytes);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  void* memory_ = MAP_FAILED;
};

std::optional<std::string> run_caught(void (*work)(void*), void* argument) {
  try {
    work(argument);
    return std::nullopt;
  } catch (const FatalLlvmError& error) {
    return error.message;
  } catch (const std::bad_alloc&) {
    return "out of memory";
  }
}

// The frames that a jump out of a crash skips never say that they are gone: AddressSanitizer would
// take whatever lies there next for theirs.
void forget_skipped_frames() {
  constexpr std::size_t kDeepest = std::size_t{1} << 20;
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  GODWIT_UNPOISON(here - kDeepest, kDeepest);
}

// A function of its own: what run_guarded() inlined of it would mark that frame, and nobody would
// take the marks away.
[[gnu::noinline]] std::string crash_text(int signal) {
  return fmt::format("LLVM crashed on it (signal {})", signal);
}

}  // namespace

// Nothing with a destructor lives across sigsetjmp() here, and nothing is changed after it. Address
// sanitizing is off: after the jump out of a signal handler it may take this frame for a dead one.
__attribute__((no_sanitize("address"))) std::optional<std::string> run_guarded(void (*work)(void*),
                                                                               void* argument) {
  install_handlers();
  static thread_local const SignalStack stack;
  sigjmp_buf* const outer = recovery;
  sigjmp_buf here;
  if (const int signal = sigsetjmp(here, /*savemask=*/1); signal != 0) {
    forget_skipped_frames();
    recovery = outer;
    return crash_text(signal);
  }
  recovery = &here;
  auto death = run_caught(work, argument);
  recovery = outer;
  return death;
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
