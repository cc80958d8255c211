// What the steps of a start are called, and what a person can do when one fails.
#include <cerrno>

#include "base/fail.hpp"
#include "netlab/spawn.hpp"

namespace godwit::netlab {
namespace {

struct StepText {
  const char* what;
  const char* advice;
};

constexpr const char* kBeRoot =
    "run as root, or let users have namespaces (sysctl user.max_user_namespaces, "
    "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)";
constexpr const char* kNoMasks =
    "a container that hides parts of /proc or /sys does not allow it: run outside of it";

StepText text_of(Trouble trouble) {
  switch (trouble.step) {
    case Step::begin: break;
    case Step::make_namespaces: return {"make network, mount and PID namespaces", kBeRoot};
    case Step::map_user: return {"become root of a user namespace", kBeRoot};
    case Step::join_namespaces: return {"enter a host's namespaces", "the host may have ended"};
    case Step::fork: return {"fork inside a host", "look at the limits of processes and memory"};
    case Step::mount_proc: return {"mount /proc for a host", kNoMasks};
    case Step::mount_sys: return {"mount /sys for a host", kNoMasks};
    case Step::open_tun:
      return {"open /dev/net/tun", trouble.error_number == EACCES
                                       ? "let this user read and write it, or run as root"
                                       : "the kernel needs TUN devices (modprobe tun)"};
    case Step::make_tun: return {"make a TUN device", "the kernel needs TUN devices"};
    case Step::set_address: return {"set up a host's interfaces", "the kernel needs IPv4"};
    case Step::enter_folder: return {"enter the current folder inside a host", "run elsewhere"};
    case Step::execute: return {"execute the command", "check its name and PATH"};
  }
  return {"start a process in a host", "no step is known to have failed"};
}

ErrorCode code_of(Trouble trouble) {
  const int number = trouble.error_number;
  if (number == ENOMEM || number == EAGAIN || number == EMFILE || number == ENFILE) {
    return ErrorCode::resource_exhausted;
  }
  switch (trouble.step) {
    case Step::execute: return number == ENOENT ? ErrorCode::not_found : ErrorCode::permission;
    case Step::begin:
    case Step::join_namespaces:
    case Step::fork:
    case Step::enter_folder: return ErrorCode::internal;
    default: return ErrorCode::unsupported;
  }
}

}  // namespace

Error error_of(Trouble trouble) {
  const StepText text = text_of(trouble);
  return {code_of(trouble), fmt::format("cannot {}: {}; {}", text.what,
                                        errno_text(trouble.error_number), text.advice)};
}

}  // namespace godwit::netlab
