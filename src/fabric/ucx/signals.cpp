#include "fabric/ucx/signals.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <ucs/debug/debug.h>

#include <string_view>

namespace godwit::fabric::ucx {
namespace {

bool in_same_library(const void* a, const void* b) noexcept {
  Dl_info a_info{};
  Dl_info b_info{};
  return ::dladdr(a, &a_info) != 0 && ::dladdr(b, &b_info) != 0 &&
         a_info.dli_fbase == b_info.dli_fbase;
}

}  // namespace

void give_back_signals() noexcept {
  // Taken from the library itself, not from this program's PLT, where dladdr would find us.
  const void* const in_ucs = ::dlsym(RTLD_DEFAULT, "ucs_debug_disable_signal");
  if (in_ucs == nullptr) return;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    struct sigaction current{};
    if (::sigaction(signal, nullptr, &current) != 0) continue;
    const void* const handler = reinterpret_cast<const void*>(current.sa_sigaction);
    if (handler != nullptr && in_same_library(handler, in_ucs)) ucs_debug_disable_signal(signal);
  }
}

}  // namespace godwit::fabric::ucx
