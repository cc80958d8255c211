// UCX changes what signals do; this changes it back.
#pragma once

namespace godwit::fabric::ucx {

// libucs takes over SIGSEGV, SIGBUS, SIGILL and SIGFPE when it is loaded, before main(), and there
// is no setting but the environment to stop it. This gives each back to whoever had it before, if
// UCX's handler is still in place; a handler the program installed since stays. Any thread; cheap.
void give_back_signals() noexcept;

}  // namespace godwit::fabric::ucx
