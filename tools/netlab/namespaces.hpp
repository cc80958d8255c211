// The namespaces a host consists of. Everything here is for a process with one thread, freshly
// forked for it (spawn.hpp); failures are reported with errno.
#pragma once

#include <optional>

#include "netlab/spawn.hpp"

namespace godwit::netlab {

// Leaves the caller's network, mount and (with its next child) PID namespace for new ones. Who may
// not do that gets a user namespace too and is its root, with the rights of the user outside.
[[nodiscard]] std::optional<Trouble> make_namespaces();

// The kinds that make_namespaces() gave to the process, as setns() takes them.
[[nodiscard]] int namespaces_of(pid_t pid);

// Enters those of the process, and comes back to the same folder there.
[[nodiscard]] std::optional<Trouble> join_namespaces(int pidfd, int flags);

// For the first process of new namespaces: /proc shows their processes, /sys their interfaces.
// UCX finds interfaces by looking there.
[[nodiscard]] std::optional<Trouble> mount_views();

}  // namespace godwit::netlab
