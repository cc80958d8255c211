// Floors: how fast the mechanisms Godwit stands on are by themselves, on this machine, right now.
//
// Each measure_*() forks a server and a client, pins them, lets them exchange messages and returns
// what the client saw. Nothing stays behind, also when a side hangs (RunOptions::limit_s). Forking
// is only safe in a process without other threads: a program that has some starts a ForkServer
// first, and asks that.
#pragma once

#include "floors/chase_list.hpp"
#include "floors/options.hpp"
#include "floors/sample.hpp"
#include "godwit/error.hpp"

namespace godwit::floors {

// A raw ucp_am round trip: header and payload one way, answered from inside the AM callback.
[[nodiscard]] Result<Sample> measure_ucp_am(const UcpAmOptions& options);
// A flag in shared memory, both sides spinning: what the caches allow.
[[nodiscard]] Result<Sample> measure_shared_flag(const SharedFlagOptions& options);
// One read and one write per message and side.
[[nodiscard]] Result<Sample> measure_socket_echo(const SocketEchoOptions& options);
// Chases over several servers, that travel or return after each step; round trips are whole chases,
// each checked. Not pinned.
[[nodiscard]] Result<Sample> measure_ucp_chase(const UcpChaseOptions& options,
                                               const ChaseList& list);

}  // namespace godwit::floors
