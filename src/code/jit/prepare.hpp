// What every module goes through before code is generated for it, in both tiers: it is tied to this
// CPU, and to the runtime that knows which library its constructors, exit handlers and threads
// belong to. The result needs nothing of a dynamic linker but relocation, so an object from the
// cache behaves like one just compiled.
#pragma once

#include <llvm/IR/Module.h>

#include "code/jit/host.hpp"

namespace godwit::code::jit {

// The symbols a prepared module may define: void init(Image*) runs its constructors, void fini()
// its destructors.
inline constexpr const char* kInitSymbol = "__godwit_init";
inline constexpr const char* kFiniSymbol = "__godwit_fini";
// An import named kTlsPrefix + X asks for a token of the thread-local variable X of another
// library; TLS_ADDRESS(token) is its address in the calling thread.
inline constexpr const char* kTlsPrefix = "__godwit_tls.";
inline constexpr const char* kTlsAddressSymbol = "__godwit_tls_address";

// Names that a library's code must not reach directly, as their effect belongs to the library, and
// what is called instead, with the library's handle as one more argument.
struct Hook {
  const char* symbol;
  const char* replacement;
};
inline constexpr Hook kHooks[] = {
    {"atexit", "__godwit_atexit"},
    {"pthread_create", "__godwit_pthread_create"},
    {"_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
     "__godwit_start_thread"},
};

// Whether loading the module twice would duplicate state: mutable globals, thread-locals,
// constructors, destructors. Asked of a module that is not prepared yet.
[[nodiscard]] bool is_stateful(const llvm::Module& module);

void prepare(llvm::Module& module, const Host& host);

}  // namespace godwit::code::jit
